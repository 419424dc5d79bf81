// SPDX-License-Identifier: Apache-2.0
#include "kernels/mel/sound_mel.h"

#include <cmath>
#include <numbers>

#include "base/error.h"

namespace myxtts {
namespace {

std::vector<float> roots_of_one(std::int64_t count) {
  std::vector<float> roots;
  for (std::int64_t k = 0; k < count; ++k) {
    const double angle =
        -2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(count);
    roots.push_back(static_cast<float>(std::cos(angle)));
    roots.push_back(static_cast<float>(std::sin(angle)));
  }
  return roots;
}

}  // namespace

bool cuda_sound_mel_supports(const MelConfig& mel) {
  return mel.fft_size == kSoundFft && mel.window == kSoundWindow;
}

SoundMelTables sound_mel_tables(const MelConfig& mel, std::span<const float> window,
                                std::span<const float> filters) {
  const std::int64_t bins = mel.fft_size / 2 + 1;
  MYXTTS_CHECK(std::ssize(window) == mel.window && std::ssize(filters) == bins * mel.bands,
               "the tables have {} and {} numbers", window.size(), filters.size());
  SoundMelTables tables{.window = {window.begin(), window.end()},
                        .roots = roots_of_one(mel.fft_size),
                        .weights = {},
                        .band_starts = {0},
                        .band_bins = {}};
  const auto weight = [&](std::int64_t bin, std::int64_t band) {
    return filters[static_cast<std::size_t>(bin * mel.bands + band)];
  };
  for (std::int64_t band = 0; band < mel.bands; ++band) {
    std::int64_t first = 0;
    while (first < bins && weight(first, band) == 0) ++first;
    std::int64_t last = bins;  // one past the last weight that is not 0
    while (last > first && weight(last - 1, band) == 0) --last;
    for (std::int64_t bin = first; bin < last; ++bin) tables.weights.push_back(weight(bin, band));
    tables.band_bins.push_back(static_cast<std::int32_t>(first));
    tables.band_starts.push_back(static_cast<std::int32_t>(tables.weights.size()));
  }
  return tables;
}

}  // namespace myxtts
