// SPDX-License-Identifier: Apache-2.0
//
// What users of the TensorFlow predecessor bring along: the keys of its config files, and names of
// flags, its own and other trainers', that are called something else here.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "config/field.h"

namespace myxtts {

// The reason of a key that neither it nor we have.
inline constexpr std::string_view kUnknownKey = "nothing here is called so";

// What a key of its files is here.
struct PredecessorKey {
  const Field* field = nullptr;  // the setting it means; null: none
  std::string_view reason = {};  // why it means none: keys with the same reason are named together
};

// Nothing for a key that was never its. Below its sections `model` and `training`, which are not
// ours, every key is known: the worst is that it means nothing.
std::optional<PredecessorKey> predecessor_key(std::string_view key);

// Whether it is one of its sections that are not ours.
bool is_predecessor_section(std::string_view key);

// What the value of such a key is written as here; nothing: it asks for what is the case anyway.
std::optional<std::string> predecessor_value(std::string_view key, const std::string& value);

// The name among `known` that the writer of `wrong` most likely meant: the same thing under the
// name that others give it, a beginning or an end of a name, a slip of the keyboard. Names are
// flags ("--learning-rate"), keys or parts of keys.
std::optional<std::string> meant_name(std::string_view wrong, std::span<const std::string> known);

// Why a flag of train_main.py has no equal that takes the same value, as a clause; empty for any
// other flag.
std::string reason_without_flag(std::string_view flag);

}  // namespace myxtts
