// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

namespace myxtts {

// How finely a spectrum divides sound in frequency and in time; in samples.
struct SpectrumSizes {
  std::int64_t fft_size = 1024;  // of the window too
  std::int64_t hop = 256;
};

// The magnitudes [B, fft_size / 2 + 1, S / hop + 1] of waveforms [B, S], S > fft_size / 2, under
// `window` [fft_size]. Frames are centred and the sound is reflected at its ends. Gradients pass,
// and are finite in silence too: the smallest magnitude is 3e-5.
at::Tensor magnitudes(const at::Tensor& waveforms, const at::Tensor& window,
                      const SpectrumSizes& sizes);

}  // namespace myxtts
