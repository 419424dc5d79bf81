// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

namespace myxtts {

// The loops over samples, apart from the rest so that the compiler can unroll them.

// What inspect() found in samples.
struct SampleFindings {
  std::int64_t at_full_scale = 0;
  int highest = -32'768;
  int lowest = 32'767;
  bool has_nan = false;  // or infinite

  int peak() const { return std::max(std::abs(highest), std::abs(lowest)); }
};

void inspect(std::span<const std::int16_t> samples, SampleFindings& findings);
void inspect(std::span<const float> values, SampleFindings& findings);

// Mixes interleaved values of `channels` down to one sample each, rounded to 16 bits. Full scale of
// floats is 32,768, as libsndfile reads files of 16 bits; beyond it they are clipped, and what is
// not a number gives any value.
void mix_down(std::span<const float> values, std::size_t channels, std::int16_t* samples);
void mix_down(std::span<const short> values, std::size_t channels, std::int16_t* samples);

}  // namespace myxtts
