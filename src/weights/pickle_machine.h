// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "weights/byte_reader.h"
#include "weights/pickle.h"

namespace myxtts {

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

}  // namespace myxtts
