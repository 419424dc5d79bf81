// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

namespace myxtts {

// Where a piece of speech meets another one, its first or last milliseconds are faded in or out, so
// that no sample jumps there. Shorter than any sound of speech: nothing is lost.

// Samples of a fade: 5 ms.
std::int64_t seam_length(std::int64_t sample_rate);

void fade_in(std::span<float> samples, std::int64_t length);
void fade_out(std::span<float> samples, std::int64_t length);

}  // namespace myxtts
