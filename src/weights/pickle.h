// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace myxtts {

enum class PickleKind {
  None,
  Bool,     // integer is 0 or 1
  Integer,  // one that fits 64 bits
  Real,
  Text,        // text, UTF-8 as the file has it
  Bytes,       // text; also integers beyond 64 bits
  List,        // items
  Tuple,       // items
  Dict,        // items: key, value, key, value, ...
  Set,         // items
  Global,      // a class or function by its name: module in text, name in name
  Call,        // items: what would be called, its arguments
  Persistent,  // items: the identifier of something outside the pickle (a storage)
};

using PickleRef = std::uint32_t;  // a value's place in its PickleTree

struct PickleValue {
  PickleKind kind = PickleKind::None;
  union {
    std::int64_t integer = 0;
    double real;
  };
  std::string_view text;
  std::string_view name;
  std::vector<PickleRef> items;
};

// What a pickle describes, as inert data. Nothing of it is looked up or called: a class or function
// stays a name, a call stays a record of what would have been called. Values refer to one another
// by number, and may do so in cycles. Texts are views of the pickle's bytes, which outlive the
// tree.
class PickleTree {
 public:
  const PickleValue& operator[](PickleRef value) const { return values_[value]; }
  PickleRef root() const { return root_; }

  // The value of a text key; nothing if `dict` is not a dict or lacks it.
  std::optional<PickleRef> find(PickleRef dict, std::string_view key) const;

  // Whether `value` is the class or function `module`.`name`.
  bool is_global(PickleRef value, std::string_view module, std::string_view name) const;

  // "a call of os.system", for messages.
  std::string describe(PickleRef value) const;

 private:
  friend class PickleMachine;

  std::deque<PickleValue> values_;  // grows without moving
  PickleRef root_ = 0;
};

// Reads a pickle of protocol 2 to 5. Throws DataError for anything malformed and where the values
// would take more than `memory_limit` bytes; `subject` opens every message.
PickleTree read_pickle(std::span<const std::byte> bytes, std::size_t memory_limit,
                       const std::string& subject);

}  // namespace myxtts
