// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace myxtts {

// How many samples at `to_rate` a Resampler makes of `samples` at `from_rate`.
std::int64_t resampled_length(std::int64_t samples, std::int64_t from_rate, std::int64_t to_rate);

// A resampling filter of rational ratio for the CPU: every output sample is a short dot product of
// neighbouring input samples with the taps of its phase.
//
// A strided convolution would multiply whole blocks of `from` samples, nearly all of them by zero:
// at 48,000 to 22,050 Hz twelve times as many products.
class PhaseFilter {
 public:
  // `weights` [to, taps] row by row; output i takes the input samples from
  // i / to * from + starts[i % to] - reach on, zeros beyond both ends.
  PhaseFilter(std::int64_t from, std::int64_t reach, std::vector<std::int64_t> starts,
              std::span<const float> weights);

  // Output samples first .. first + output.size() of what `input` becomes. Any thread.
  void apply(std::span<const float> input, std::int64_t first, std::span<float> output) const;

 private:
  static constexpr std::size_t kLanes = 8;

  std::int64_t from_;
  std::int64_t reach_;
  std::vector<std::int64_t> starts_;  // of each phase
  std::size_t taps_;                  // a multiple of kLanes; those added are zero
  std::vector<float> weights_;        // [to, taps_]
};

}  // namespace myxtts
