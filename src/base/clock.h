// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <mutex>

namespace myxtts {

// Time that only goes forward. An interface, so that a test can decide what time it is
// (tests/support/fake_clock.h). Any thread may ask.
class Clock {
 public:
  using Time = std::chrono::steady_clock::time_point;

  virtual ~Clock() = default;
  virtual Time now() const = 0;
};

class SystemClock final : public Clock {
 public:
  Time now() const override;
};

// The one clock of the process; lives until its end.
const Clock& system_clock();

inline double seconds_in(std::chrono::nanoseconds time) {
  return std::chrono::duration<double>(time).count();
}

// Where a worker's time went since its meter was made. The difference of two readings is
// about the time between them.
struct LoadReading {
  std::chrono::nanoseconds busy{};
  std::chrono::nanoseconds waiting_for_input{};
  std::chrono::nanoseconds waiting_for_output{};
  std::chrono::nanoseconds other{};  // outside every scope

  LoadReading operator-(const LoadReading& earlier) const;
  LoadReading operator+(const LoadReading& other_worker) const;
  double busy_share() const;  // of all time, 0 to 1; 0 when no time has passed
};

// Measures what one worker thread does with its time: busy, or waiting, and for what.
//
//   { const auto scope = meter.waiting_for_input();  item = input.pop(); }
//   { const auto scope = meter.busy();               work(item); }
//
// Scopes may be nested: the inner one counts, and the outer one goes on after it. Scopes belong to
// the one worker; any thread may read. A scope costs two clock readings and two free locks: use
// it per item of work, not per sample. The clock outlives the meter, the meter its
// scopes.
class LoadMeter {
 public:
  class Scope;

  explicit LoadMeter(const Clock& clock = system_clock());

  [[nodiscard]] Scope busy();
  [[nodiscard]] Scope waiting_for_input();
  [[nodiscard]] Scope waiting_for_output();

  LoadReading read() const;  // includes the scope that is open now

 private:
  enum class State { Other, Busy, WaitingForInput, WaitingForOutput };

  State enter(State state);  // gives the state before

  const Clock& clock_;

  // Everything below is guarded by mutex_.
  mutable std::mutex mutex_;
  State state_ = State::Other;
  Clock::Time since_;
  std::array<std::chrono::nanoseconds, 4> spent_{};  // by state, up to since_
};

class LoadMeter::Scope {
 public:
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;
  ~Scope() { meter_.enter(before_); }

 private:
  friend class LoadMeter;
  Scope(LoadMeter& meter, State state) : meter_(meter), before_(meter.enter(state)) {}

  LoadMeter& meter_;
  const State before_;
};

// How full a queue was since it was made. The difference of two readings is about the time
// between them, except for `highest`.
struct DepthReading {
  std::size_t current = 0;
  std::size_t highest = 0;
  std::chrono::nanoseconds observed{};
  std::chrono::nanoseconds empty{};  // the part of `observed` with nothing in the queue
  double item_seconds = 0;           // depth summed over time

  double mean() const;  // depth averaged over time; the current one when no time has passed
};

// Follows the depth of one queue. The queue's own lock guards it.
class DepthMeter {
 public:
  explicit DepthMeter(const Clock& clock = system_clock());

  void set(std::size_t depth);
  DepthReading read() const;

 private:
  const Clock& clock_;
  const Clock::Time start_;
  Clock::Time since_;
  DepthReading until_since_;
};

}  // namespace myxtts
