// SPDX-License-Identifier: Apache-2.0
#include "synth/seam.h"

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

}  // namespace myxtts
