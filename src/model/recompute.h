// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <utility>

#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>

namespace myxtts {

// Remembers the place in the device's random numbers, and gives what goes back to it.
using RememberRandom = std::function<std::function<void()>()>;

// The usual one, from a generator; not while a CUDA graph is recorded.
RememberRandom remember_generator(const at::Generator& generator);

// Two tensors; the second may be undefined where it goes into a part.
using TensorPair = std::pair<at::Tensor, at::Tensor>;

// part(in), of which only `in` is kept for the backward pass: that computes the part once more,
// with the same random numbers. Gradients of the parameters that the part uses go to them directly.
TensorPair recomputed(const std::function<TensorPair(const TensorPair&)>& part,
                      const TensorPair& in, const RememberRandom& remember);

}  // namespace myxtts
