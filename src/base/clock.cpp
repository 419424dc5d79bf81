// SPDX-License-Identifier: Apache-2.0
#include "base/clock.h"

#include <algorithm>

namespace myxtts {

Clock::Time SystemClock::now() const {
  return std::chrono::steady_clock::now();
}

const Clock& system_clock() {
  static const SystemClock clock;
  return clock;
}

LoadReading LoadReading::operator-(const LoadReading& earlier) const {
  return {busy - earlier.busy, waiting_for_input - earlier.waiting_for_input,
          waiting_for_output - earlier.waiting_for_output, other - earlier.other};
}

LoadReading LoadReading::operator+(const LoadReading& other_worker) const {
  return {busy + other_worker.busy, waiting_for_input + other_worker.waiting_for_input,
          waiting_for_output + other_worker.waiting_for_output, other + other_worker.other};
}

double LoadReading::busy_share() const {
  const auto all = busy + waiting_for_input + waiting_for_output + other;
  return all.count() == 0 ? 0
                          : static_cast<double>(busy.count()) / static_cast<double>(all.count());
}

LoadMeter::LoadMeter(const Clock& clock) : clock_(clock), since_(clock.now()) {}

LoadMeter::Scope LoadMeter::busy() {
  return {*this, State::Busy};
}

LoadMeter::Scope LoadMeter::waiting_for_input() {
  return {*this, State::WaitingForInput};
}

LoadMeter::Scope LoadMeter::waiting_for_output() {
  return {*this, State::WaitingForOutput};
}

LoadMeter::State LoadMeter::enter(State state) {
  const std::lock_guard lock(mutex_);
  const auto now = clock_.now();
  spent_[static_cast<std::size_t>(state_)] += now - since_;
  since_ = now;
  const State before = state_;
  state_ = state;
  return before;
}

LoadReading LoadMeter::read() const {
  const std::lock_guard lock(mutex_);
  auto spent = spent_;
  spent[static_cast<std::size_t>(state_)] += clock_.now() - since_;
  const auto of = [&spent](State state) { return spent[static_cast<std::size_t>(state)]; };
  return {of(State::Busy), of(State::WaitingForInput), of(State::WaitingForOutput),
          of(State::Other)};
}

double DepthReading::mean() const {
  if (observed.count() == 0) return static_cast<double>(current);
  return item_seconds / std::chrono::duration<double>(observed).count();
}

DepthMeter::DepthMeter(const Clock& clock) : clock_(clock), start_(clock.now()), since_(start_) {}

void DepthMeter::set(std::size_t depth) {
  until_since_ = read();
  since_ = start_ + until_since_.observed;
  until_since_.current = depth;
  until_since_.highest = std::max(until_since_.highest, depth);
}

DepthReading DepthMeter::read() const {
  DepthReading reading = until_since_;
  const auto now = clock_.now();
  const std::chrono::nanoseconds passed = now - since_;
  reading.observed = now - start_;
  if (reading.current == 0) reading.empty += passed;
  reading.item_seconds +=
      static_cast<double>(reading.current) * std::chrono::duration<double>(passed).count();
  return reading;
}

}  // namespace myxtts
