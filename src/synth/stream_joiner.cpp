// SPDX-License-Identifier: Apache-2.0
#include "synth/stream_joiner.h"

namespace myxtts {

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
