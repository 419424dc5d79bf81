// SPDX-License-Identifier: Apache-2.0
#include "diagnose/profile/knobs.h"

#include <string>

#include <fmt/format.h>

#include "base/error.h"
#include "config/field.h"

namespace myxtts {
namespace {

// One of the two, never both.
std::string_view batch_key(const DevicePlan& plan) {
  return plan.batch_tokens ? "train.batch_tokens" : "train.batch_size";
}

}  // namespace

std::optional<Knob> number_knob(std::string_view key, std::int64_t value) {
  const Field* field = find_field(key);
  MYXTTS_CHECK(field != nullptr, "there is no setting {}", key);
  const std::string text = std::to_string(value);
  RunConfig unused;
  if (!field->assign({.text = text}, unused)) return std::nullopt;
  return Knob{fmt::format("{} {}", field->flag, text), field->key, text};
}

std::optional<Knob> larger_batch(const DevicePlan& plan, std::int64_t factor) {
  return number_knob(batch_key(plan), factor * plan.batch_tokens.value_or(plan.batch_size));
}

bool is_batch_knob(const Knob& knob, const DevicePlan& plan) {
  return knob.key == batch_key(plan);
}

}  // namespace myxtts
