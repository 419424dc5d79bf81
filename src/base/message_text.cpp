// SPDX-License-Identifier: Apache-2.0
#include "base/message_text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <vector>

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
  if (nanoseconds == 0) return "0 s";
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

std::string human_milliseconds(double seconds) {
  const double milliseconds = 1000 * seconds;
  constexpr double kThreeDigits = 999.5;  // what rounds to more
  if (milliseconds < kThreeDigits) return fmt::format("{:.3g} ms", milliseconds);
  return human_count(std::llround(milliseconds)) + " ms";
}

std::string counted(std::int64_t count, std::string_view one, std::string_view many) {
  std::string text = human_count(count) + " ";
  if (count == 1) return text.append(one);
  return many.empty() ? text.append(one) + "s" : text.append(many);
}

std::string human_count(std::int64_t count) {
  std::string digits = fmt::format("{}", count);
  const std::ptrdiff_t first = count < 0 ? 1 : 0;
  for (auto at = static_cast<std::ptrdiff_t>(digits.size()) - 3; at > first; at -= 3) {
    digits.insert(static_cast<std::size_t>(at), 1, ',');
  }
  return digits;
}

namespace {

// Names are ASCII; a byte outside it is kept as it is.
std::string folded(std::string_view name) {
  std::string result(name);
  for (char& letter : result) {
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
    if (letter == '_') letter = '-';
  }
  return result;
}

// Insertions, deletions, replacements and swaps of neighbours that turn one into the other (optimal
// string alignment: no letter is touched twice).
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before_last(b.size() + 1);
  std::vector<std::size_t> last(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before_last.swap(last);
    last.swap(row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, replaced});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
  }
  return row[b.size()];
}

// Beyond a third of the longer name a suggestion would be a guess.
bool near_enough(std::size_t distance, std::size_t length_a, std::size_t length_b) {
  return distance <= std::max<std::size_t>(1, std::max(length_a, length_b) / 3) &&
         distance < std::min(length_a, length_b);
}

}  // namespace

std::optional<std::string> nearest_name(std::string_view wrong,
                                        std::span<const std::string> known) {
  const std::string asked = folded(wrong);
  std::optional<std::string> nearest;
  std::size_t least = 0;
  for (const std::string& name : known) {
    const std::size_t distance = edit_distance(asked, folded(name));
    if (!near_enough(distance, asked.size(), name.size())) continue;
    if (nearest && distance >= least) continue;
    nearest = name;
    least = distance;
  }
  return nearest;
}

std::string shell_word(std::string_view text) {
  const auto is_plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("-_./,:=+@%").find(c) != std::string_view::npos ||
           static_cast<unsigned char>(c) >= 0x80;
  };
  if (!text.empty() && std::ranges::all_of(text, is_plain)) return std::string(text);
  std::string word = "'";
  for (const char c : text) word += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return word + "'";
}

std::string printable(std::string_view text) {
  constexpr std::size_t kLongest = 120;
  std::string shown(text.substr(0, kLongest));
  for (char& letter : shown) {
    const auto code = static_cast<unsigned char>(letter);
    if (code < 0x20 || code >= 0x7f) letter = '?';
  }
  return text.size() > kLongest ? shown + "..." : shown;
}

}  // namespace myxtts
