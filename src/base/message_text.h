// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace myxtts {

// "0 B", "999 B", "1.9 GB", "12.3 MB", "530 MB": powers of 1000, as on the box of a disk. Whole
// from 100 on, one decimal below; rounded to the nearest.
std::string human_size(std::uint64_t bytes);

// "0 s", "120 µs", "450 ms", "3.2 s", "42 s", "3 min 20 s", "2 h 05 min", "3 d 04 h": the two
// largest units, rounded to the nearest of the smaller.
std::string human_duration(std::chrono::nanoseconds duration);

// "0.25 ms", "12.3 ms", "107 ms", "1,070 ms": always this unit, for figures that are compared.
std::string human_milliseconds(double seconds);

// "1,234,567".
std::string human_count(std::int64_t count);

// "1 clip", "1,234 clips", "2 batches": `many` is the plural where it is not the word with an s.
std::string counted(std::int64_t count, std::string_view one, std::string_view many = {});

// The known name that the writer of `wrong` most likely meant, or nothing when none is close
// enough to be a slip of the keyboard. Letter case does not count, `-` and `_` are the same, two
// neighbours swapped count as one slip; of equally near names the first in `known` is taken.
std::optional<std::string> nearest_name(std::string_view wrong, std::span<const std::string> known);

// The text as a shell takes it for one word: as it is, or in quotes where it must be.
std::string shell_word(std::string_view text);

// A name from a file as it may be shown: shortened, and without bytes a terminal would act on.
std::string printable(std::string_view text);

}  // namespace myxtts
