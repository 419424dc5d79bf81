// SPDX-License-Identifier: Apache-2.0
#include "device/stream.h"

#include <atomic>
#include <utility>

#include "base/error.h"

namespace myxtts {
namespace {

// The CPU's: work is done when the call returns, so the mark is reached as it is made.
class HostEvent final : public Event::State {
 public:
  explicit HostEvent(const Clock& clock) : clock_(clock) {}

  void record(const Stream&) override { reached_.store(clock_.now()); }
  bool completed() const override { return true; }
  void hold_up(const Stream&) const override {}
  void wait() const override {}

  double milliseconds_since(const State& earlier) const override {
    const auto* other = dynamic_cast<const HostEvent*>(&earlier);
    MYXTTS_CHECK(other != nullptr, "the time between marks of different devices was asked for");
    return std::chrono::duration<double, std::milli>(reached_.load() - other->reached_.load())
        .count();
  }

 private:
  const Clock& clock_;
  std::atomic<Clock::Time> reached_{};
};

}  // namespace

Event::Event(const Clock& clock) : Event(std::make_unique<HostEvent>(clock)) {}
Event::Event(std::unique_ptr<State> state) : state_(std::move(state)) {}
Event::Event(Event&&) noexcept = default;
Event& Event::operator=(Event&&) noexcept = default;
Event::~Event() = default;

void Event::record(const Stream& stream) {
  state_->record(stream);
  recorded_ = true;
}

bool Event::completed() const {
  return !recorded_ || state_->completed();
}

void Event::hold_up(const Stream& stream) const {
  if (recorded_) state_->hold_up(stream);
}

void Event::wait() const {
  if (recorded_) state_->wait();
}

double Event::milliseconds_since(const Event& earlier) const {
  MYXTTS_CHECK(recorded_ && earlier.recorded_, "the time of a mark that was never made");
  return state_->milliseconds_since(*earlier.state_);
}

}  // namespace myxtts
