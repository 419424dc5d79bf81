// SPDX-License-Identifier: Apache-2.0
#include "data/sample_blocks.h"

#include <algorithm>
#include <cmath>

namespace myxtts {
namespace {

constexpr std::int16_t kFullScale = 32'767;

std::int16_t to_16_bits(float value) {
  const float scaled = value * 32768.0F;
  const float above = scaled > -32768.0F ? scaled : -32768.0F;
  const float within = above < 32767.0F ? above : 32767.0F;
  return static_cast<std::int16_t>(static_cast<int>(within + std::copysign(0.5F, within)));
}

}  // namespace

void inspect(std::span<const std::int16_t> samples, SampleFindings& findings) {
  constexpr std::size_t kPiece = 16'384;  // what a count of 16 bits can hold
  while (!samples.empty()) {
    const auto piece = samples.first(std::min(kPiece, samples.size()));
    std::int16_t highest = piece.front();
    std::int16_t lowest = piece.front();
    std::int16_t at_full_scale = 0;
    for (const std::int16_t sample : piece) {
      highest = std::max(sample, highest);
      lowest = std::min(sample, lowest);
      const bool is_full = sample >= kFullScale || sample <= -kFullScale;
      at_full_scale = static_cast<std::int16_t>(at_full_scale + (is_full ? 1 : 0));
    }
    findings.highest = std::max(findings.highest, static_cast<int>(highest));
    findings.lowest = std::min(findings.lowest, static_cast<int>(lowest));
    findings.at_full_scale += at_full_scale;
    samples = samples.subspan(piece.size());
  }
}

void inspect(std::span<const float> values, SampleFindings& findings) {
  int bad = 0;
  for (const float value : values) bad |= std::fabs(value) <= 1e30F ? 0 : 1;
  findings.has_nan = findings.has_nan || bad != 0;
}

void mix_down(std::span<const float> values, std::size_t channels, std::int16_t* samples) {
  const float* value = values.data();
  const std::size_t frames = values.size() / channels;
  if (channels == 1) {
    for (std::size_t frame = 0; frame < frames; ++frame) samples[frame] = to_16_bits(value[frame]);
  } else if (channels == 2) {
    for (std::size_t frame = 0; frame < frames; ++frame) {
      samples[frame] = to_16_bits((value[2 * frame] + value[2 * frame + 1]) * 0.5F);
    }
  } else {
    for (std::size_t frame = 0; frame < frames; ++frame, value += channels) {
      float sum = 0.0F;
      for (std::size_t channel = 0; channel < channels; ++channel) sum += value[channel];
      samples[frame] = to_16_bits(sum / static_cast<float>(channels));
    }
  }
}

// Halves are rounded up, away from zero with more than two channels.
void mix_down(std::span<const short> values, std::size_t channels, std::int16_t* samples) {
  const short* value = values.data();
  const std::size_t frames = values.size() / channels;
  if (channels == 2) {
    for (std::size_t frame = 0; frame < frames; ++frame) {
      samples[frame] =
          static_cast<std::int16_t>((value[2 * frame] + value[2 * frame + 1] + 1) >> 1);
    }
    return;
  }
  const auto count = static_cast<std::int32_t>(channels);
  for (std::size_t frame = 0; frame < frames; ++frame, value += channels) {
    std::int32_t sum = 0;
    for (std::size_t channel = 0; channel < channels; ++channel) sum += value[channel];
    samples[frame] =
        static_cast<std::int16_t>((sum + (sum < 0 ? -(count / 2) : count / 2)) / count);
  }
}

}  // namespace myxtts
