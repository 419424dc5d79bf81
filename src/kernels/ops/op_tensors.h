// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>

#include <ATen/core/Tensor.h>

#include "kernels/cuda_kernels.h"

namespace myxtts {

// The kind of number that all of these tensors hold on one GPU; nothing where they are elsewhere,
// differ or hold another kind. Undefined ones are passed over.
std::optional<Number> common_number(std::initializer_list<at::Tensor> tensors);

// For autograd's functions, which take no undefined tensors.
inline std::optional<at::Tensor> if_defined(const at::Tensor& tensor) {
  return tensor.defined() ? std::optional(tensor) : std::nullopt;
}

// A tensor's memory, or null for an undefined one.
inline void* pointer(const at::Tensor& tensor) {
  return tensor.defined() ? tensor.data_ptr() : nullptr;
}

// A promise of its holder while a forward pass runs on this thread: each parameter's .grad is
// zero or undefined when the backward pass comes, and the parameter is used once in the pass. So
// operations of ours may write their gradients straight into .grad, without autograd's pass over
// them that adds. Gradients written so do not reach hooks.
class ZeroGradientPromise {
 public:
  ZeroGradientPromise();
  ZeroGradientPromise(const ZeroGradientPromise&) = delete;
  ZeroGradientPromise& operator=(const ZeroGradientPromise&) = delete;
  ~ZeroGradientPromise();

  static bool given();

 private:
  bool before_;
};

// Where a backward pass writes the gradient of `parameter`: its own .grad where that was promised
// to be zero, or a new tensor that goes to autograd. Nothing for a frozen or missing parameter.
class GradientTarget {
 public:
  GradientTarget(const at::Tensor& parameter, bool promised);

  explicit operator bool() const { return buffer_.defined(); }
  void* data() const { return buffer_.defined() ? buffer_.data_ptr() : nullptr; }
  const at::Tensor& buffer() const { return buffer_; }

  // What the backward pass returns to autograd.
  at::Tensor for_autograd() const { return direct_ ? at::Tensor() : buffer_; }

 private:
  at::Tensor buffer_;
  bool direct_ = false;
};

}  // namespace myxtts
