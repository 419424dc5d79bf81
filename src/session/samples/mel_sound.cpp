// SPDX-License-Identifier: Apache-2.0
#include "session/samples/mel_sound.h"

#include <ATen/ATen.h>

#include "audio/mel_spectrogram.h"
#include "config/model.h"

namespace myxtts {
namespace {

constexpr int kPhaseRounds = 32;
constexpr double kMomentum = 0.99;  // of the fast form of the algorithm (Perraudin et al., 2013)
constexpr double kLoudest = 0.95;

// The power spectrum [bins, F] of least squares that has these mel bands, without what is negative.
at::Tensor spectrum_of(const at::Tensor& power, const MelConfig& config) {
  const auto filters = mel_filters(config);  // [bins, bands]
  return at::matmul(at::linalg_pinv(filters.t()), power).clamp_min(0);
}

}  // namespace

at::Tensor sound_of_mel(const at::Tensor& power) {
  const MelConfig config = dvae_mel_config();
  const auto window = mel_window(config);
  const auto loudness = spectrum_of(power, config).sqrt();  // [bins, F]
  const auto samples = (power.size(1) - 1) * config.hop;
  if (samples < config.fft_size) return at::zeros({config.fft_size});
  const auto sound_of = [&](const at::Tensor& spectrum) {
    return at::istft(spectrum, config.fft_size, config.hop, config.window, window, /*center=*/true,
                     /*normalized=*/false, /*onesided=*/true, samples);
  };
  const auto spectrum_of_sound = [&](const at::Tensor& sound) {
    return at::stft(sound, config.fft_size, config.hop, config.window, window, /*center=*/true,
                    /*pad_mode=*/"reflect", /*normalized=*/false, /*onesided=*/true,
                    /*return_complex=*/true);
  };
  auto spectrum = at::complex(loudness, at::zeros_like(loudness));
  auto before = at::zeros_like(spectrum);
  for (int round = 0; round < kPhaseRounds; ++round) {
    const auto now = spectrum_of_sound(sound_of(spectrum));
    const auto ahead = now + kMomentum * (now - before);
    spectrum = at::polar(loudness, at::angle(ahead));
    before = now;
  }
  const auto sound = sound_of(spectrum);
  return sound * (kLoudest / sound.abs().max().clamp_min(kLoudest));
}

}  // namespace myxtts
