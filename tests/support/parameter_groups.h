// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "model/tensor_spec.h"

namespace myxtts::test {

// The parameters of a network that decay and those that do not. Both lists are in the byte order of
// the names, as coqui-tts numbers them in its optimiser state.
struct ParameterGroups {
  std::vector<std::string> decayed;
  std::vector<std::string> kept;
};

inline ParameterGroups parameter_groups(const TensorSpecs& specs) {
  ParameterGroups groups;
  for (const auto& spec : specs) {
    if (spec.role != TensorRole::Parameter) continue;
    (decays(spec.name) ? groups.decayed : groups.kept).push_back(spec.name);
  }
  std::ranges::sort(groups.decayed);
  std::ranges::sort(groups.kept);
  return groups;
}

}  // namespace myxtts::test
