// SPDX-License-Identifier: Apache-2.0
#include "parallel/rank_output.h"

#include <utility>

#include <fmt/format.h>

namespace myxtts {
namespace {

constexpr std::size_t kLongestLine = 65536;  // bytes; what is longer is shown as several lines

bool is_error(std::string_view line) {
  return line.starts_with("myxtts: ") || line.starts_with("error: ");
}

}  // namespace

RankOutput::RankOutput(int rank, ShowLine show) : rank_(rank), show_(std::move(show)) {}

void RankOutput::add(std::string_view piece) {
  while (!piece.empty()) {
    const std::size_t end = piece.find('\n');
    unfinished_ += piece.substr(0, end);
    piece.remove_prefix(end == std::string_view::npos ? piece.size() : end + 1);
    if (end != std::string_view::npos || unfinished_.size() >= kLongestLine) {
      show_line(std::exchange(unfinished_, {}));
    }
  }
}

void RankOutput::finish() {
  if (!unfinished_.empty()) show_line(std::exchange(unfinished_, {}));
}

void RankOutput::show_line(std::string line) {
  if (line.ends_with('\r')) line.pop_back();
  show_(fmt::format("[rank {}] {}", rank_, line));
  if (line.empty()) return;
  if (is_error(line)) last_error_ = line;
  last_line_ = std::move(line);
}

}  // namespace myxtts
