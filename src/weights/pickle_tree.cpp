// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "weights/byte_reader.h"
#include "weights/pickle.h"

namespace myxtts {

std::optional<PickleRef> PickleTree::find(PickleRef dict, std::string_view key) const {
  const PickleValue& value = values_[dict];
  if (value.kind != PickleKind::Dict) return std::nullopt;
  std::optional<PickleRef> found;
  for (std::size_t i = 0; i + 1 < value.items.size(); i += 2) {
    const PickleValue& candidate = values_[value.items[i]];
    if (candidate.kind == PickleKind::Text && candidate.text == key) found = value.items[i + 1];
  }
  return found;
}

bool PickleTree::is_global(PickleRef value, std::string_view module, std::string_view name) const {
  const PickleValue& global = values_[value];
  return global.kind == PickleKind::Global && global.text == module && global.name == name;
}

std::string PickleTree::describe(PickleRef value) const {
  const PickleValue& described = values_[value];
  switch (described.kind) {
    case PickleKind::None:
      return "None";
    case PickleKind::Bool:
      return "a truth value";
    case PickleKind::Integer:
      return fmt::format("the number {}", described.integer);
    case PickleKind::Real:
      return fmt::format("the number {}", described.real);
    case PickleKind::Text:
      return fmt::format("the text '{}'", printable(described.text));
    case PickleKind::Bytes:
      return "bytes";
    case PickleKind::List:
      return "a list";
    case PickleKind::Tuple:
      return "a tuple";
    case PickleKind::Dict:
      return "a dict";
    case PickleKind::Set:
      return "a set";
    case PickleKind::Global:
      return fmt::format("{}.{}", printable(described.text), printable(described.name));
    case PickleKind::Call:
      // A callee that is a call itself is not followed: the values may form a cycle.
      return values_[described.items[0]].kind == PickleKind::Global
                 ? fmt::format("a call of {}", describe(described.items[0]))
                 : "a call of something computed";
    case PickleKind::Persistent:
      return "a storage";
  }
  return "nothing known";
}

}  // namespace myxtts
