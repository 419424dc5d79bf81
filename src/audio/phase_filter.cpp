// SPDX-License-Identifier: Apache-2.0
#include "audio/phase_filter.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <utility>

#include "base/error.h"

namespace myxtts {

std::int64_t resampled_length(std::int64_t samples, std::int64_t from_rate, std::int64_t to_rate) {
  MYXTTS_CHECK(from_rate > 0 && to_rate > 0, "cannot resample from {} Hz to {} Hz", from_rate,
               to_rate);
  if (from_rate == to_rate) return samples;
  const auto divisor = std::gcd(from_rate, to_rate);
  // torchaudio takes the ceiling of an fp32 value, which beyond 65,536 samples can be one less.
  const double exact =
      static_cast<double>(to_rate / divisor * samples) / static_cast<double>(from_rate / divisor);
  return static_cast<std::int64_t>(std::ceil(static_cast<float>(exact)));
}

namespace {

// Four floats that the compiler keeps in one register, on every processor it knows.
using Lanes [[gnu::vector_size(16)]] = float;

Lanes load(const float* values) {
  Lanes lanes;
  std::memcpy(&lanes, values, sizeof(lanes));
  return lanes;
}

float dot(const float* a, const float* b, std::size_t count) {  // count: a multiple of 8
  Lanes even = {};
  Lanes odd = {};
  for (std::size_t i = 0; i < count; i += 8) {
    even += load(a + i) * load(b + i);
    odd += load(a + i + 4) * load(b + i + 4);
  }
  const Lanes sum = even + odd;
  return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

// The same for samples of which some lie beyond the ends of the input.
float dot_at_end(std::span<const float> input, std::int64_t begin, const float* weights,
                 std::size_t taps) {
  float sum = 0.0F;
  for (std::size_t tap = 0; tap < taps; ++tap) {
    const auto at = begin + static_cast<std::int64_t>(tap);
    if (at >= 0 && at < std::ssize(input))
      sum += input[static_cast<std::size_t>(at)] * weights[tap];
  }
  return sum;
}

}  // namespace

PhaseFilter::PhaseFilter(std::int64_t from, std::int64_t reach, std::vector<std::int64_t> starts,
                         std::span<const float> weights)
    : from_(from), reach_(reach), starts_(std::move(starts)) {
  const std::size_t given = weights.size() / starts_.size();
  taps_ = (given + kLanes - 1) / kLanes * kLanes;
  weights_.resize(starts_.size() * taps_);
  for (std::size_t phase = 0; phase < starts_.size(); ++phase) {
    std::ranges::copy(weights.subspan(phase * given, given),
                      weights_.begin() + static_cast<std::ptrdiff_t>(phase * taps_));
  }
}

void PhaseFilter::apply(std::span<const float> input, std::int64_t first,
                        std::span<float> output) const {
  const auto phases = std::ssize(starts_);
  auto phase = first % phases;
  auto block = first / phases * from_ - reach_;
  for (float& sample : output) {
    const auto begin = block + starts_[static_cast<std::size_t>(phase)];
    const auto* weights = weights_.data() + static_cast<std::size_t>(phase) * taps_;
    const bool inside = begin >= 0 && begin + static_cast<std::int64_t>(taps_) <= std::ssize(input);
    sample = inside ? dot(input.data() + begin, weights, taps_)
                    : dot_at_end(input, begin, weights, taps_);
    if (++phase == phases) {
      phase = 0;
      block += from_;
    }
  }
}

}  // namespace myxtts
