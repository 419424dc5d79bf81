// SPDX-License-Identifier: Apache-2.0
#include "base/progress.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <exception>
#include <iterator>
#include <numeric>
#include <utility>

#include <fmt/ranges.h>

#include "base/log.h"
#include "base/message_text.h"

namespace myxtts {
namespace {

using namespace std::chrono_literals;

constexpr auto kQuietStart = 2s;
constexpr auto kBetweenBars = 100ms;
constexpr auto kBetweenLines = 5s;
constexpr int kWidestBar = 30;
constexpr int kNarrowestBar = 8;
constexpr int kPlainColumns = 80;
constexpr int kWidestCurve = 24;
constexpr int kNarrowestCurve = 4;

// The first `columns` characters; never cuts a UTF-8 sequence.
std::string_view first_columns(std::string_view text, int columns) {
  std::size_t at = 0;
  while (at < text.size()) {
    const bool starts_character = (static_cast<unsigned char>(text[at]) & 0xC0) != 0x80;
    if (starts_character && columns-- <= 0) break;
    ++at;
  }
  return text.substr(0, at);
}

int columns_of(std::string_view text) {
  return static_cast<int>(std::count_if(text.begin(), text.end(), [](char byte) {
    return (static_cast<unsigned char>(byte) & 0xC0) != 0x80;
  }));
}

}  // namespace

std::string sparkline(std::span<const double> values, std::size_t columns, bool unicode) {
  constexpr std::array<std::string_view, 8> kBlocks = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  constexpr std::string_view kAscii = "_.-:=+*#";
  std::vector<double> finite;
  std::ranges::copy_if(values, std::back_inserter(finite),
                       [](double v) { return std::isfinite(v); });
  if (finite.empty() || columns == 0) return {};
  const std::size_t drawn = std::min(columns, finite.size());
  std::vector<double> means(drawn);
  for (std::size_t i = 0; i < drawn; ++i) {
    const auto begin = finite.begin() + static_cast<std::ptrdiff_t>(i * finite.size() / drawn);
    const auto end = finite.begin() + static_cast<std::ptrdiff_t>((i + 1) * finite.size() / drawn);
    means[i] = std::accumulate(begin, end, 0.0) / static_cast<double>(end - begin);
  }
  const auto [least, most] = std::ranges::minmax(means);
  std::string line;
  for (const double mean : means) {
    const double height = most > least ? (mean - least) / (most - least) : 0;
    const auto level = static_cast<std::size_t>(std::lround(7 * height));
    line += unicode ? kBlocks[level] : kAscii.substr(level, 1);
  }
  return line;
}

Progress::Progress(ProgressOptions options, Screen& screen, const Clock& clock)
    : options_(std::move(options)),
      screen_(screen),
      clock_(clock),
      start_(clock.now()),
      exceptions_at_start_(std::uncaught_exceptions()),
      done_(options_.done_before),
      next_show_(Clock::Time::max()) {
  const ScreenAbilities abilities = screen.abilities();
  if (!abilities.progress || thread_is_quiet()) return;
  const bool at_once = options_.at_once && abilities.terminal;
  next_show_ = at_once ? start_ : start_ + kQuietStart;
}

Progress::~Progress() {
  const std::lock_guard lock(mutex_);
  if (!shown_) return;
  screen_.remove_bar(this);
  const auto now = clock_.now();
  if (now - start_ < kQuietStart || std::uncaught_exceptions() != exceptions_at_start_) return;
  screen_.write_line(summary(now));
}

void Progress::advance(std::uint64_t by) {
  done_ += by;
  const auto now = clock_.now();
  if (now >= next_show_.load(std::memory_order_relaxed)) show(now);
}

void Progress::set_note(ProgressNote note) {
  const std::lock_guard lock(mutex_);
  note_ = std::move(note);
}

void Progress::show(Clock::Time now) {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  // Another thread draws, or has just done so.
  if (!lock.owns_lock() || now < next_show_.load(std::memory_order_relaxed)) return;
  const bool terminal = screen_.abilities().terminal;
  if (terminal) {
    screen_.draw_bar(this, bar(figures(now), share_done(now), screen_.width()));
  } else {
    screen_.write_line(lines(figures(now)));
  }
  shown_ = true;
  next_show_ = now + (terminal ? Clock::Time::duration(kBetweenBars) : kBetweenLines);
}

std::string Progress::amount(std::uint64_t count) const {
  return options_.unit == ProgressOptions::Unit::Bytes
             ? human_size(count)
             : human_count(static_cast<std::int64_t>(count));
}

// Over the whole time: steadier than the last moment, and what time left is reckoned from.
std::string Progress::rate(double seconds) const {
  const double per_second = static_cast<double>(done_ - options_.done_before) / seconds;
  if (options_.unit == ProgressOptions::Unit::Items && per_second < 10) {
    return fmt::format("{:.1f}/s", per_second);
  }
  return amount(static_cast<std::uint64_t>(per_second + 0.5)) + "/s";
}

// By what is done, or by the clock where that ends it before.
std::optional<std::string> Progress::time_left(Clock::Time now) const {
  const std::uint64_t done = done_;
  std::optional<double> seconds;
  if (options_.total && done > options_.done_before) {
    const auto done_here = static_cast<double>(done - options_.done_before);
    const auto rest = static_cast<double>(std::max(*options_.total, done) - done);
    seconds = seconds_in(now - start_) * rest / done_here;
  }
  if (options_.deadline) {
    const double by_clock = std::max(0.0, seconds_in(*options_.deadline - now));
    seconds = std::min(seconds.value_or(by_clock), by_clock);
  }
  if (!seconds) return std::nullopt;
  const std::chrono::duration<double> left(*seconds);
  return human_duration(std::chrono::ceil<std::chrono::seconds>(left)) + " left";
}

// Of the work, or of the time where less of that is left.
double Progress::share_done(Clock::Time now) const {
  const std::uint64_t done = done_;
  double share = 0;
  if (options_.total) {
    const std::uint64_t total = std::max<std::uint64_t>({*options_.total, done, 1});
    share = *options_.total == 0 ? 1 : static_cast<double>(done) / static_cast<double>(total);
  }
  if (!options_.deadline) return share;
  const double all = std::max(1e-9, seconds_in(*options_.deadline - start_));
  return std::max(share, std::min(1.0, seconds_in(now - start_) / all));
}

// With notes that come first, the time left stands before them, and what was counted behind.
Progress::Figures Progress::figures(Clock::Time now) const {
  const std::uint64_t done = done_;
  Figures counts{amount(done), rate(seconds_in(now - start_))};
  Figures shown;
  if (options_.total) {
    const std::uint64_t total = std::max(*options_.total, done);  // a guess that was too low
    shown.push_back(fmt::format("{:3} %", static_cast<int>(share_done(now) * 100)));
    counts.front() += " of " + amount(total);
  }
  const bool has_first = !note_.first.empty();
  if (!has_first) shown.insert(shown.end(), counts.begin(), counts.end());
  if (auto left = time_left(now)) shown.push_back(std::move(*left));
  shown.insert(shown.end(), note_.first.begin(), note_.first.end());
  if (has_first) shown.insert(shown.end(), counts.rbegin(), counts.rend());  // the rate first
  shown.insert(shown.end(), note_.then.begin(), note_.then.end());
  return shown;
}

std::string Progress::lines(const Figures& figures) const {
  std::string text = options_.title + ":";
  int columns = columns_of(text);
  std::string_view gap = " ";
  for (const std::string& figure : figures) {
    const int more = static_cast<int>(gap.size()) + columns_of(figure);
    if (columns + more <= kPlainColumns) {
      columns += more;
    } else {
      gap = "\n    ";
      columns = static_cast<int>(gap.size()) - 1 + columns_of(figure);
    }
    text.append(gap).append(figure);
    gap = "  ";
  }
  return text;
}

// One line of at most width - 1 columns: the last column would make some terminals wrap.
std::string Progress::bar(const Figures& figures, double share, int width) const {
  const int room = width - 1;
  const std::string all = fmt::format("{}", fmt::join(figures, "  "));
  const int for_curve = note_.curve.empty() ? 0 : kNarrowestCurve + 2;
  const int rest = room - columns_of(options_.title) - columns_of(all) - 2 - for_curve;
  const int bar_columns = std::min(rest - 3, kWidestBar);  // "[", "]" and a space
  if (!options_.total || bar_columns < kNarrowestBar) {
    std::string line = fmt::format("{}: {}", options_.title, figures.front());
    // The curve comes before what was counted and what follows that.
    const std::size_t before_curve =
        note_.first.empty() ? figures.size() : figures.size() - note_.then.size() - 1;
    for (std::size_t i = 1; i < figures.size(); ++i) {
      const int limit = i < before_curve ? room : room - for_curve;
      if (columns_of(line) + 2 + columns_of(figures[i]) > limit) break;
      line += "  " + figures[i];
    }
    return with_curve(std::string(first_columns(line, room)), room);
  }
  const auto filled = static_cast<std::size_t>(share * bar_columns);
  const auto empty = static_cast<std::size_t>(bar_columns) - filled;
  const bool colours = screen_.abilities().colours;
  const int taken = columns_of(options_.title) + 4 + bar_columns + columns_of(all);
  return fmt::format("{} [{}{}{}{}] {}", options_.title, colours ? "\x1b[36m" : "",
                     std::string(filled, '='), colours ? "\x1b[0m" : "", std::string(empty, ' '),
                     with_curve(all, room - taken + columns_of(all)));
}

// In what is left of `room`.
std::string Progress::with_curve(std::string line, int room) const {
  const int columns = std::min(room - columns_of(line) - 2, kWidestCurve);
  if (note_.curve.empty() || columns < kNarrowestCurve) return line;
  return line + "  " +
         sparkline(note_.curve, static_cast<std::size_t>(columns), screen_.abilities().unicode);
}

std::string Progress::summary(Clock::Time now) const {
  const std::uint64_t done = done_;
  const double seconds = seconds_in(now - start_);
  const bool short_of_total = options_.total && done < *options_.total;
  return fmt::format("{}: {}{} in {} ({})", options_.title, amount(done),
                     short_of_total ? " of " + amount(*options_.total) : "",
                     human_duration(now - start_), rate(seconds));
}

}  // namespace myxtts
