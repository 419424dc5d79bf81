// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

#include "config/model.h"
#include "model/vocoder.h"

namespace myxtts {

// From latents to samples: all of them, or only the last ones, as a stream wants them, without
// decoding again what was heard. The decoder outlives it.
class WindowedVocoder {
 public:
  WindowedVocoder(const Decoder& decoder, const DecoderConfig& config);

  // latents [n, D] and speaker [speaker_dim] -> [length(n)] on the device of the decoder. No
  // latents give no samples.
  at::Tensor operator()(const at::Tensor& latents, const at::Tensor& speaker) const;

  // The same from sample `first` on: equal, as what lies further away than `reach_` has no part in
  // it.
  at::Tensor from(std::int64_t first, const at::Tensor& latents, const at::Tensor& speaker) const;

  // The samples [first, last) of it.
  at::Tensor between(std::int64_t first, std::int64_t last, const at::Tensor& latents,
                     const at::Tensor& speaker) const;

  // How many samples n latents give.
  std::int64_t length(std::int64_t latents) const;

 private:
  const Decoder& decoder_;
  DecoderConfig config_;
  std::int64_t reach_;  // frames on either side that a sample depends on, rounded up
};

}  // namespace myxtts
