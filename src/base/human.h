// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace myxtts {

// "0 B", "999 B", "1.9 GB", "12.3 MB", "530 MB": powers of 1000, as on the box of a disk. Whole
// from 100 on, one decimal below; rounded to the nearest.
std::string human_size(std::uint64_t bytes);

// "120 µs", "450 ms", "3.2 s", "42 s", "3 min 20 s", "2 h 05 min", "3 d 04 h": the two largest
// units, rounded to the nearest of the smaller.
std::string human_duration(std::chrono::nanoseconds duration);

// "1,234,567".
std::string human_count(std::int64_t count);

}  // namespace myxtts
