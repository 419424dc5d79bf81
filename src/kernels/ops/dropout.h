// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>

namespace myxtts {

// Where dropout on the CPU draws from. LibTorch has one generator on the CPU for the whole
// process; ranks that are threads of one process need one each. While it lives, its thread draws
// from `generator`.
class DropoutGenerator {
 public:
  explicit DropoutGenerator(const at::Generator& generator);
  DropoutGenerator(const DropoutGenerator&) = delete;
  DropoutGenerator& operator=(const DropoutGenerator&) = delete;
  ~DropoutGenerator();

 private:
  std::optional<at::Generator> before_;
};

namespace plain {

// x, of which each number is 0 with `probability` and otherwise larger by as much.
at::Tensor dropout(const at::Tensor& x, double probability);

}  // namespace plain

}  // namespace myxtts
