// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "config/model.h"
#include "device/stream.h"

namespace myxtts {

// What the kernel is written for; see sound_mel_steps.cuh.
inline constexpr int kSoundFft = 2048;     // samples
inline constexpr int kSoundWindow = 1024;  // samples that the window does not hide
inline constexpr int kSoundThreads = 256;  // that work on one frame

// Sound on a GPU: 16-bit samples.
struct SoundPiece {
  const std::int16_t* samples = nullptr;
  std::int64_t count = 0;
};

// What the kernel reads besides sound, as arrays in host memory: made once, copied to the device.
struct SoundMelTables {
  std::vector<float> window;              // [window]
  std::vector<float> roots;               // [fft_size, 2] cos and sin of -2 pi k / fft_size
  std::vector<float> weights;             // filters of all bands, without their zeros
  std::vector<std::int32_t> band_starts;  // [bands + 1] in `weights`
  std::vector<std::int32_t> band_bins;    // [bands] the bin of each band's first weight
};

// `window` is [window], `filters` [fft_size / 2 + 1, bands], both as MelSpectrogram has them.
SoundMelTables sound_mel_tables(const MelConfig& mel, std::span<const float> window,
                                std::span<const float> filters);

// Where those tables are on the device.
struct SoundMelView {
  const float* window = nullptr;
  const float* roots = nullptr;
  const float* weights = nullptr;
  const std::int32_t* band_starts = nullptr;
  const std::int32_t* band_bins = nullptr;
  const float* mel_stats = nullptr;  // [bands]
};

struct SoundMelShape {
  std::int64_t samples = 0;  // of a row: pieces are followed by zeros up to here
  std::int64_t hop = 256;    // samples
  std::int64_t bands = 80;

  std::int64_t frames() const { return samples / hop + 1; }
};

// ln(max(mel power, 1e-5)) / mel_stats of pieces of sound on a GPU, [pieces, bands, frames] fp32:
// one kernel in place of padding, windowing, transforming and what follows one after another, so
// that it takes little of the GPU from whoever computes beside it. A row depends on its own piece
// alone. Queues on `stream` and waits for nothing. Throws DeviceError.
//
// For spectrograms with fft_size 2048 and a window of 1024 samples, as supports() says.
void cuda_sound_mel(const SoundMelView& tables, const SoundMelShape& shape,
                    std::span<const SoundPiece> pieces, float* out, const Stream& stream);

bool cuda_sound_mel_supports(const MelConfig& mel);

}  // namespace myxtts
