// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include "audio/resample.h"

namespace myxtts {

// One clip as it was decoded, on the data device.
struct ClipSound {
  at::Tensor samples;  // [S] int16 at `rate`
  std::int64_t rate = 0;
};

// Brings clips of any rate to the rates that networks take, on one device. One thread at a time.
class ClipResampler {
 public:
  explicit ClipResampler(c10::Device device) : device_(device) {}

  // [S] fp32 within ±1 at `rate`.
  at::Tensor operator()(const ClipSound& clip, std::int64_t rate);

  // [S] fp32 at `from` to [S'] at `to`.
  at::Tensor resampled(const at::Tensor& wave, std::int64_t from, std::int64_t to);

 private:
  c10::Device device_;
  std::map<std::pair<std::int64_t, std::int64_t>, Resampler> resamplers_;  // by both rates
};

// As 16-bit files hold it.
at::Tensor in_16_bits(const at::Tensor& wave);

}  // namespace myxtts
