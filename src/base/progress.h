// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/log.h"

namespace myxtts {

// Shows how far a piece of work is, until its end of scope.
//
//   Progress progress({.title = "Reading clips", .total = clips.size()});
//   for (...) { ...; progress.advance(); }
//
//   Reading clips [=======         ]  45 %  1,234 of 2,742  210/s  7 s left
//
// A bar on a terminal, otherwise plain lines every 5 s, both from 2 s on; nothing for shorter work
// or when progress is not wanted. What a terminal has no room for is left out, figure by figure
// from the last; plain lines have 80 columns, and the rest follows on further ones. At the end the
// bar gives way to a line with the sum, unless an exception is under way. Any thread may advance;
// screen and clock outlive it.
struct ProgressOptions {
  enum class Unit { Items, Bytes };

  std::string title;                         // what is being done: "Reading clips"
  std::optional<std::uint64_t> total = {};   // nothing: not known
  std::optional<Clock::Time> deadline = {};  // when it ends, however little is done
  Unit unit = Unit::Items;
  bool at_once = false;           // a person waits: on a terminal the bar is there from the start
  std::uint64_t done_before = 0;  // by an earlier process: counts as done, not in the rate
};

// What is shown beside the figures, most important first.
struct ProgressNote {
  std::vector<std::string> first = {};  // beside the time left: "loss 2.31"
  std::vector<std::string> then = {};   // behind everything: "lr 5e-06"
  std::vector<double> curve = {};       // drawn small where a terminal has room left
};

// The values from left to right as so many characters of eight heights; fewer where there are fewer
// values. Those that fall on one character are averaged; what is not finite is left out.
std::string sparkline(std::span<const double> values, std::size_t columns, bool unicode);

class Progress {
 public:
  explicit Progress(ProgressOptions options, Screen& screen = standard_screen(),
                    const Clock& clock = system_clock());
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress();

  // That much more is done. Cheap: draws at most ten times a second, the rest of the time it adds.
  void advance(std::uint64_t by = 1);

  // From now on.
  void set_note(ProgressNote note);

  // Whether the next advance() draws, so that a note is worth making.
  bool draws_soon() const { return clock_.now() >= next_show_.load(std::memory_order_relaxed); }

 private:
  void show(Clock::Time now);
  std::string amount(std::uint64_t count) const;
  std::string rate(double seconds) const;
  using Figures = std::vector<std::string>;  // most important first
  std::optional<std::string> time_left(Clock::Time now) const;
  double share_done(Clock::Time now) const;
  Figures figures(Clock::Time now) const;
  std::string bar(const Figures& figures, double share, int width) const;
  std::string with_curve(std::string line, int room) const;
  std::string lines(const Figures& figures) const;
  std::string summary(Clock::Time now) const;

  const ProgressOptions options_;
  Screen& screen_;
  const Clock& clock_;
  const Clock::Time start_;
  const int exceptions_at_start_;
  std::atomic<std::uint64_t> done_ = 0;
  std::atomic<Clock::Time> next_show_;

  // Everything below is guarded by mutex_.
  std::mutex mutex_;
  bool shown_ = false;
  ProgressNote note_;
};

}  // namespace myxtts
