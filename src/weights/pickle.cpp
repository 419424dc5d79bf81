// SPDX-License-Identifier: Apache-2.0
#include "weights/pickle.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <unordered_map>

#include <fmt/format.h>

#include "base/error.h"
#include "base/message_text.h"
#include "weights/byte_reader.h"

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

// The stack machine that a pickle is a program for, reduced to the instructions that build data.
// One use: run() once. read_pickle() is its front.
class PickleMachine {
 public:
  PickleMachine(std::span<const std::byte> bytes, std::size_t memory_limit,
                const std::string& subject);

  PickleTree run();

 private:
  // Each tries one family of instructions and says whether `opcode` belonged to it.
  bool constant(std::uint8_t opcode);
  bool text(std::uint8_t opcode);
  bool container(std::uint8_t opcode);
  bool fill(std::uint8_t opcode);
  bool stack(std::uint8_t opcode);
  bool memory(std::uint8_t opcode);
  bool object(std::uint8_t opcode);

  void long_integer(std::uint64_t size);
  void call(PickleRef callee, PickleRef arguments);
  void add_items(PickleRef target, std::vector<PickleRef> items);
  void memorise(std::uint32_t number);
  void recall(std::uint32_t number);

  PickleRef push(PickleValue value);
  void push_text(PickleKind kind, std::string_view content);
  void push_items(PickleKind kind, std::vector<PickleRef> items);
  PickleRef pop();
  PickleRef top() const;
  std::vector<PickleRef> pop_to_mark();
  void charge(std::size_t bytes);
  [[noreturn]] void fail(const std::string& what) const;

  ByteReader reader_;
  PickleTree tree_;
  std::vector<PickleRef> stack_;
  std::vector<std::size_t> marks_;  // heights of stack_
  std::unordered_map<std::uint32_t, PickleRef> memo_;
  std::size_t memory_limit_;
  std::size_t memory_used_ = 0;
};

namespace {

// What a value, a reference on a stack and an entry of the memo cost, with the slack of their
// containers; rather too much than too little.
constexpr std::size_t kValueCost = sizeof(PickleValue) + 16;
constexpr std::size_t kReferenceCost = 3 * sizeof(PickleRef);
constexpr std::size_t kMemoCost = 64;
constexpr std::size_t kMarkCost = 3 * sizeof(std::size_t);

}  // namespace

PickleMachine::PickleMachine(std::span<const std::byte> bytes, std::size_t memory_limit,
                             const std::string& subject)
    : reader_(bytes, subject), memory_limit_(memory_limit) {}

PickleTree PickleMachine::run() {
  constexpr std::uint8_t kProto = 0x80;
  constexpr std::uint8_t kStop = '.';
  if (reader_.number<std::uint8_t>() != kProto) fail("does not begin as pickles of PyTorch do");
  if (const auto protocol = reader_.number<std::uint8_t>(); protocol < 2 || protocol > 5) {
    fail(fmt::format("has protocol {}; protocols 2 to 5 are read", protocol));
  }
  while (true) {
    const auto opcode = reader_.number<std::uint8_t>();
    if (opcode == kStop) break;
    const bool known = constant(opcode) || text(opcode) || container(opcode) || fill(opcode) ||
                       stack(opcode) || memory(opcode) || object(opcode);
    if (!known) fail(fmt::format("has an instruction {:#04x} that weights do not need", opcode));
  }
  tree_.root_ = pop();
  return std::move(tree_);
}

bool PickleMachine::constant(std::uint8_t opcode) {
  const auto push_integer = [this](std::int64_t number, PickleKind kind = PickleKind::Integer) {
    PickleValue value;
    value.kind = kind;
    value.integer = number;
    push(std::move(value));
  };
  switch (opcode) {
    case 'N':
      push({});
      return true;
    case 0x88:
      push_integer(1, PickleKind::Bool);
      return true;
    case 0x89:
      push_integer(0, PickleKind::Bool);
      return true;
    case 'J':
      push_integer(reader_.number<std::int32_t>());
      return true;
    case 'K':
      push_integer(reader_.number<std::uint8_t>());
      return true;
    case 'M':
      push_integer(reader_.number<std::uint16_t>());
      return true;
    case 0x8a:
      long_integer(reader_.number<std::uint8_t>());
      return true;
    case 0x8b:
      long_integer(reader_.number<std::uint32_t>());
      return true;
    case 'G': {  // the one number that is stored with its first byte first
      std::array<char, 8> reversed;
      const std::string_view stored = reader_.text(reversed.size());
      std::copy(stored.rbegin(), stored.rend(), reversed.begin());
      PickleValue value;
      value.kind = PickleKind::Real;
      value.real = std::bit_cast<double>(reversed);
      push(std::move(value));
      return true;
    }
    default:
      return false;
  }
}

// A two's-complement integer of any size; what does not fit 64 bits stays bytes.
void PickleMachine::long_integer(std::uint64_t size) {
  const std::string_view stored = reader_.text(size);
  if (stored.size() > sizeof(std::int64_t)) return push_text(PickleKind::Bytes, stored);
  const bool negative = !stored.empty() && (static_cast<unsigned char>(stored.back()) & 0x80) != 0;
  std::int64_t number = negative ? -1 : 0;
  std::memcpy(&number, stored.data(), stored.size());
  PickleValue value;
  value.kind = PickleKind::Integer;
  value.integer = number;
  push(std::move(value));
}

bool PickleMachine::text(std::uint8_t opcode) {
  using enum PickleKind;
  const auto read = [this](PickleKind kind, std::uint64_t size) {
    push_text(kind, reader_.text(size));
  };
  switch (opcode) {
    case 'X':
      read(Text, reader_.number<std::uint32_t>());
      return true;
    case 0x8c:
      read(Text, reader_.number<std::uint8_t>());
      return true;
    case 0x8d:
      read(Text, reader_.number<std::uint64_t>());
      return true;
    case 'T':
      read(Text, reader_.number<std::uint32_t>());
      return true;  // Python 2's strings
    case 'U':
      read(Text, reader_.number<std::uint8_t>());
      return true;
    case 'B':
      read(Bytes, reader_.number<std::uint32_t>());
      return true;
    case 'C':
      read(Bytes, reader_.number<std::uint8_t>());
      return true;
    case 0x8e:
      read(Bytes, reader_.number<std::uint64_t>());
      return true;
    case 0x96:
      read(Bytes, reader_.number<std::uint64_t>());
      return true;
    default:
      return false;
  }
}

bool PickleMachine::container(std::uint8_t opcode) {
  using enum PickleKind;
  const auto tuple_of = [this](std::size_t count) {
    std::vector<PickleRef> items(count);
    for (std::size_t i = count; i > 0; --i) items[i - 1] = pop();
    push_items(Tuple, std::move(items));
  };
  switch (opcode) {
    case '}':
      push_items(Dict, {});
      return true;
    case ']':
      push_items(List, {});
      return true;
    case ')':
      push_items(Tuple, {});
      return true;
    case 0x8f:
      push_items(Set, {});
      return true;
    case 0x85:
      tuple_of(1);
      return true;
    case 0x86:
      tuple_of(2);
      return true;
    case 0x87:
      tuple_of(3);
      return true;
    case 't':
      push_items(Tuple, pop_to_mark());
      return true;
    case 'l':
      push_items(List, pop_to_mark());
      return true;
    case 0x91:
      push_items(Set, pop_to_mark());
      return true;
    case 'd': {
      auto items = pop_to_mark();
      if (items.size() % 2 != 0) fail("has a dict with a key that lacks its value");
      push_items(Dict, std::move(items));
      return true;
    }
    default:
      return false;
  }
}

bool PickleMachine::fill(std::uint8_t opcode) {
  switch (opcode) {
    case 'a': {
      const PickleRef item = pop();
      add_items(top(), {item});
      return true;
    }
    case 's': {
      const PickleRef value = pop();
      const PickleRef key = pop();
      add_items(top(), {key, value});
      return true;
    }
    case 'e':
    case 'u':
    case 0x90: {
      auto items = pop_to_mark();
      add_items(top(), std::move(items));
      return true;
    }
    default:
      return false;
  }
}

// Items given to the record of a call (a Counter's, say) are left out: it stays inert.
void PickleMachine::add_items(PickleRef target, std::vector<PickleRef> items) {
  PickleValue& value = tree_.values_[target];
  if (value.kind == PickleKind::Call) return;
  const bool is_dict = value.kind == PickleKind::Dict;
  if (!is_dict && value.kind != PickleKind::List && value.kind != PickleKind::Set) {
    fail(fmt::format("puts items into {}", tree_.describe(target)));
  }
  if (is_dict && items.size() % 2 != 0) fail("has a dict with a key that lacks its value");
  charge(items.size() * kReferenceCost);
  value.items.insert(value.items.end(), items.begin(), items.end());
}

bool PickleMachine::stack(std::uint8_t opcode) {
  switch (opcode) {
    case '(':
      charge(kMarkCost);
      marks_.push_back(stack_.size());
      return true;
    case '0':
      pop();
      return true;
    case '1':
      pop_to_mark();
      return true;
    case '2':
      charge(kReferenceCost);
      stack_.push_back(top());
      return true;
    case 0x80:
      reader_.number<std::uint8_t>();
      return true;
    case 0x95:
      reader_.number<std::uint64_t>();
      return true;  // a frame: how much to read at once
    default:
      return false;
  }
}

bool PickleMachine::memory(std::uint8_t opcode) {
  switch (opcode) {
    case 'q':
      memorise(reader_.number<std::uint8_t>());
      return true;
    case 'r':
      memorise(reader_.number<std::uint32_t>());
      return true;
    case 0x94:
      memorise(static_cast<std::uint32_t>(memo_.size()));
      return true;
    case 'h':
      recall(reader_.number<std::uint8_t>());
      return true;
    case 'j':
      recall(reader_.number<std::uint32_t>());
      return true;
    default:
      return false;
  }
}

void PickleMachine::memorise(std::uint32_t number) {
  charge(kMemoCost);
  memo_[number] = top();
}

void PickleMachine::recall(std::uint32_t number) {
  const auto found = memo_.find(number);
  if (found == memo_.end()) fail(fmt::format("refers to value {} before it is there", number));
  charge(kReferenceCost);
  stack_.push_back(found->second);
}

bool PickleMachine::object(std::uint8_t opcode) {
  const auto push_global = [this](std::string_view module, std::string_view name) {
    PickleValue value;
    value.kind = PickleKind::Global;
    value.text = module;
    value.name = name;
    push(std::move(value));
  };
  switch (opcode) {
    case 'c': {
      const std::string_view module = reader_.line();
      push_global(module, reader_.line());
      return true;
    }
    case 0x93: {
      const PickleValue& name = tree_[pop()];
      const PickleValue& module = tree_[pop()];
      if (name.kind != PickleKind::Text || module.kind != PickleKind::Text) {
        fail("names a class by something that is not text");
      }
      push_global(module.text, name.text);
      return true;
    }
    case 'R':
    case 0x81: {
      const PickleRef arguments = pop();
      call(pop(), arguments);
      return true;
    }
    case 0x92: {  // with keyword arguments, which are left out
      pop();
      const PickleRef arguments = pop();
      call(pop(), arguments);
      return true;
    }
    case 'b':  // the state of an object: an attribute such as _metadata, never a tensor of weights
      pop();
      top();
      return true;
    case 'Q':
      push_items(PickleKind::Persistent, {pop()});
      return true;
    default:
      return false;
  }
}

// An empty ordered dict is what it says; every other call stays a record.
void PickleMachine::call(PickleRef callee, PickleRef arguments) {
  if (tree_[arguments].kind != PickleKind::Tuple) fail("has a call without a tuple of arguments");
  if (tree_.is_global(callee, "collections", "OrderedDict") && tree_[arguments].items.empty()) {
    return push_items(PickleKind::Dict, {});
  }
  push_items(PickleKind::Call, {callee, arguments});
}

PickleRef PickleMachine::push(PickleValue value) {
  charge(kValueCost + kReferenceCost * (1 + value.items.size()));
  if (tree_.values_.size() > std::numeric_limits<PickleRef>::max()) fail("has too many values");
  const auto number = static_cast<PickleRef>(tree_.values_.size());
  tree_.values_.push_back(std::move(value));
  stack_.push_back(number);
  return number;
}

void PickleMachine::push_text(PickleKind kind, std::string_view content) {
  PickleValue value;
  value.kind = kind;
  value.text = content;
  push(std::move(value));
}

void PickleMachine::push_items(PickleKind kind, std::vector<PickleRef> items) {
  PickleValue value;
  value.kind = kind;
  value.items = std::move(items);
  push(std::move(value));
}

PickleRef PickleMachine::top() const {
  if (stack_.size() <= (marks_.empty() ? 0 : marks_.back())) fail("uses a value that is not there");
  return stack_.back();
}

PickleRef PickleMachine::pop() {
  const PickleRef value = top();
  stack_.pop_back();
  return value;
}

std::vector<PickleRef> PickleMachine::pop_to_mark() {
  if (marks_.empty()) fail("closes a container that it did not open");
  const auto begin = stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back());
  std::vector<PickleRef> items(begin, stack_.end());
  stack_.erase(begin, stack_.end());
  marks_.pop_back();
  return items;
}

void PickleMachine::charge(std::size_t bytes) {
  memory_used_ += bytes;  // at most a few bytes for each byte of the pickle: cannot overflow
  if (memory_used_ > memory_limit_) {
    fail(fmt::format("describes more values than a file of its size needs (over {} bytes of them)",
                     memory_limit_));
  }
}

void PickleMachine::fail(const std::string& what) const {
  throw DataError(fmt::format("{} {} (at byte {}).", reader_.subject(), what, reader_.position()));
}

PickleTree read_pickle(std::span<const std::byte> bytes, std::size_t memory_limit,
                       const std::string& subject) {
  return PickleMachine(bytes, memory_limit, subject).run();
}

}  // namespace myxtts
