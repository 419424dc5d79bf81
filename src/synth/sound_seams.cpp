// SPDX-License-Identifier: Apache-2.0
#include "synth/sound_seams.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace myxtts {
namespace {

constexpr double kSeconds = 0.005;

// Half a cosine: from 0 at i = 0 towards 1.
float share(std::size_t i, std::size_t length) {
  const double angle = std::numbers::pi * static_cast<double>(i) / static_cast<double>(length);
  return static_cast<float>(0.5 - 0.5 * std::cos(angle));
}

std::size_t faded(std::span<float> samples, std::int64_t length) {
  return std::min(samples.size(), static_cast<std::size_t>(length));
}

}  // namespace

std::int64_t seam_length(std::int64_t sample_rate) {
  return static_cast<std::int64_t>(kSeconds * static_cast<double>(sample_rate));
}

void fade_in(std::span<float> samples, std::int64_t length) {
  const std::size_t count = faded(samples, length);
  for (std::size_t i = 0; i < count; ++i) samples[i] *= share(i, count);
}

void fade_out(std::span<float> samples, std::int64_t length) {
  const std::size_t count = faded(samples, length);
  for (std::size_t i = 0; i < count; ++i) samples[samples.size() - 1 - i] *= share(i, count);
}

void fade_seams(std::span<float> samples, std::size_t piece, std::size_t count,
                std::int64_t sample_rate, PieceEnds here) {
  const auto length = seam_length(sample_rate);
  if (here.starts && piece > 0) fade_in(samples, length);
  if (here.ends && piece + 1 < count) fade_out(samples, length);
}

std::vector<float> StreamJoiner::add(std::span<const float> samples, bool is_last) {
  const auto overlap = static_cast<std::size_t>(overlap_);
  // A piece must have room for the fade at its start and leave the overlap at its end.
  if (!is_last && samples.size() < 2 * overlap) return {};
  const std::size_t count = is_last ? samples.size() : samples.size() - overlap;
  std::vector<float> piece(samples.begin(), samples.begin() + static_cast<std::ptrdiff_t>(count));
  for (std::size_t i = 0; i < held_.size() && i < count && overlap > 1; ++i) {
    const auto share = static_cast<float>(i) / static_cast<float>(overlap - 1);
    piece[i] = held_[i] * (1.0F - share) + piece[i] * share;
  }
  held_.assign(samples.begin() + static_cast<std::ptrdiff_t>(count), samples.end());
  sent_ += static_cast<std::int64_t>(count);
  return piece;
}

}  // namespace myxtts
