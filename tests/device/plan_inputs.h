// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/error.h"
#include "config/field.h"
#include "device/plan/plan_devices.h"
#include "support/fake_gpus.h"

namespace myxtts::test {

using Flags = std::vector<std::pair<std::string, std::string>>;  // key, value

inline RunConfig config_of(const Flags& flags) {
  RunConfig config;
  for (const auto& [key, value] : flags) {
    const Field* field = find_field(key);
    if (field == nullptr || !field->assign({value, false}, config)) {
      ADD_FAILURE() << key << " does not take " << value;
    }
  }
  return config;
}

// A network of 1,000 MB and 500 MB for each clip in bf16, twice the latter in fp32.
inline MemoryNeeds some_needs(Precision precision, bool) {
  const std::int64_t clip = precision == Precision::Bf16 ? 500 : 1000;
  return {.model = {.fixed_bytes = 1000LL << 20, .clip_bytes = clip << 20},
          .data = {.fixed_bytes = 400LL << 20, .clip_bytes = 10LL << 20},
          .slot_bytes = 200'000,
          .clip_tokens = 400};
}

inline DevicePlan plan(const Flags& flags, const FakeGpus& gpus,
                       const std::string& cuda_fault = {}) {
  return plan_devices(config_of(flags), gpus.machine, some_needs, cuda_fault);
}

// The sentence that planning ends with; fails unless it is an Error of kind E.
template <typename E>
std::string refusal(const Flags& flags, const FakeGpus& gpus, const std::string& cuda_fault = {}) {
  try {
    plan(flags, gpus, cuda_fault);
  } catch (const E& error) {
    return error.what();
  }
  ADD_FAILURE() << "no error";
  return {};
}

}  // namespace myxtts::test
