// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <ATen/ATen.h>

#include "kernels/adamw/adamw.h"

namespace myxtts::test {

// How the numbers of an update are kept.
struct AdamWFormats {
  Moments moments = Moments::Fp32;
  at::ScalarType gradient = at::kFloat;
  at::ScalarType copy = at::kFloat;  // fp32: there is none
};

// The arrays of an update as tensors, filled with random numbers that are the same on each device.
struct AdamWTensors {
  AdamWTensors(const AdamWFormats& formats, std::int64_t count, c10::Device device);

  AdamWArrays arrays() const;
  UpdateState* state_pointer() const { return static_cast<UpdateState*>(state.mutable_data_ptr()); }
  UpdateState read_state() const;  // waits
  void write_state(const UpdateState& value);

  AdamWFormats formats;
  at::Tensor weights;    // fp32 [count]
  at::Tensor copy;       // [count] or undefined
  at::Tensor gradients;  // [count]
  at::Tensor means;
  at::Tensor squares;
  at::Tensor mean_scales;
  at::Tensor square_scales;
  at::Tensor partial_sums;
  at::Tensor state;  // bytes
};

}  // namespace myxtts::test
