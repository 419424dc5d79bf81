// SPDX-License-Identifier: Apache-2.0
#include "audio/magnitudes.h"

#include <ATen/ATen.h>

#include "base/error.h"

namespace myxtts {
namespace {

constexpr double kPowerFloor = 1e-9;

}  // namespace

at::Tensor magnitudes(const at::Tensor& waveforms, const at::Tensor& window,
                      const SpectrumSizes& sizes) {
  MYXTTS_CHECK(waveforms.dim() == 2 && waveforms.size(1) > sizes.fft_size / 2,
               "a spectrum of {} samples needs [B, S] with more than {}", sizes.fft_size,
               sizes.fft_size / 2);
  const auto spectrum = at::stft(waveforms, sizes.fft_size, sizes.hop, sizes.fft_size, window,
                                 /*center=*/true, /*pad_mode=*/"reflect", /*normalized=*/false,
                                 /*onesided=*/true, /*return_complex=*/true);
  return at::view_as_real(spectrum).square().sum(-1).add_(kPowerFloor).sqrt_();
}

}  // namespace myxtts
