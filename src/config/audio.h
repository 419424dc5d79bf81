// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace myxtts {

enum class WindowKind { Hann, Hamming };

// What a mel spectrogram is made with. The window is periodic and shorter windows stand in the
// middle of the FFT; frames are centred and the signal is reflected at both ends.
struct MelConfig {
  std::int64_t sample_rate = 22050;
  std::int64_t fft_size = 1024;
  std::int64_t window = 1024;  // samples
  std::int64_t hop = 256;      // samples
  std::int64_t bands = 80;
  double low_hz = 0.0;
  double high_hz = 8000.0;
  WindowKind window_kind = WindowKind::Hann;
  bool area_normalised = true;  // each band divided by half its width in Hz (Slaney)

  bool operator==(const MelConfig&) const = default;
};

// What the DVAE turns into codes.
inline MelConfig dvae_mel_config() {
  return {};
}

// What the GPT is conditioned on.
inline MelConfig conditioning_mel_config() {
  return {.fft_size = 2048};
}

}  // namespace myxtts
