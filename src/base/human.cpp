// SPDX-License-Identifier: Apache-2.0
#include "base/human.h"

#include <array>
#include <cstddef>

#include <fmt/format.h>

namespace myxtts {
namespace {

// count / unit, rounded half up; without overflow for any count.
std::uint64_t rounded(std::uint64_t count, std::uint64_t unit) {
  const std::uint64_t rest = count % unit;
  return count / unit + (rest >= unit - rest ? 1 : 0);
}

// Below a minute: one number. Rounding must not print the next unit's limit ("1000 ms", "60 s").
std::string short_duration(std::uint64_t nanoseconds) {
  if (nanoseconds < 1'000) return fmt::format("{} ns", nanoseconds);
  if (rounded(nanoseconds, 1'000) < 1'000) return fmt::format("{} µs", rounded(nanoseconds, 1'000));
  if (rounded(nanoseconds, 1'000'000) < 1'000) {
    return fmt::format("{} ms", rounded(nanoseconds, 1'000'000));
  }
  const std::uint64_t tenths = rounded(nanoseconds, 100'000'000);
  if (tenths < 100) return fmt::format("{}.{} s", tenths / 10, tenths % 10);
  return fmt::format("{} s", rounded(nanoseconds, 1'000'000'000));
}

}  // namespace

std::string human_size(std::uint64_t bytes) {
  if (bytes < 1000) return fmt::format("{} B", bytes);
  constexpr std::array kUnits{"kB", "MB", "GB", "TB", "PB", "EB"};
  std::uint64_t unit = 1000;
  std::size_t name = 0;
  while (name + 1 < kUnits.size() && rounded(bytes, unit) >= 1000) {
    unit *= 1000;
    ++name;
  }
  const std::uint64_t tenths = rounded(bytes, unit / 10);
  if (tenths < 1000) return fmt::format("{}.{} {}", tenths / 10, tenths % 10, kUnits[name]);
  return fmt::format("{} {}", rounded(bytes, unit), kUnits[name]);
}

std::string human_duration(std::chrono::nanoseconds duration) {
  const auto count = duration.count();
  if (count < 0) {
    // Negated as unsigned: the most negative count has no positive twin.
    const auto magnitude = std::uint64_t{0} - static_cast<std::uint64_t>(count);
    const auto most = std::uint64_t{INT64_MAX};
    return "-" + human_duration(std::chrono::nanoseconds(
                     static_cast<std::int64_t>(magnitude > most ? most : magnitude)));
  }
  const auto nanoseconds = static_cast<std::uint64_t>(count);
  const std::uint64_t seconds = rounded(nanoseconds, 1'000'000'000);
  if (seconds < 60) return short_duration(nanoseconds);
  if (seconds < 3600) return fmt::format("{} min {:02} s", seconds / 60, seconds % 60);
  const std::uint64_t minutes = rounded(nanoseconds, 60'000'000'000);
  if (minutes < 24 * 60) return fmt::format("{} h {:02} min", minutes / 60, minutes % 60);
  const std::uint64_t hours = rounded(nanoseconds, 3'600'000'000'000);
  return fmt::format("{} d {:02} h", hours / 24, hours % 24);
}

std::string human_count(std::int64_t count) {
  std::string digits = fmt::format("{}", count);
  const std::ptrdiff_t first = count < 0 ? 1 : 0;
  for (auto at = static_cast<std::ptrdiff_t>(digits.size()) - 3; at > first; at -= 3) {
    digits.insert(static_cast<std::size_t>(at), 1, ',');
  }
  return digits;
}

}  // namespace myxtts
