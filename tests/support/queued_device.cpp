// SPDX-License-Identifier: Apache-2.0
#include "support/queued_device.h"

#include <cstring>
#include <utility>

#include "base/error.h"

namespace myxtts::test {

Stream QueuedStreams::make() {
  streams_.emplace_back();
  return {.gpu = 0, .id = static_cast<std::int64_t>(streams_.size()) - 1};
}

void QueuedStreams::queue(const Stream& stream, std::function<void()> work) {
  streams_.at(static_cast<std::size_t>(stream.id)).push_back({{}, std::move(work)});
}

bool QueuedStreams::run_one(std::mt19937& random) {
  std::vector<std::deque<Piece>*> ready;
  for (auto& stream : streams_) {
    if (stream.empty()) continue;
    if (!stream.front().may_run || stream.front().may_run()) ready.push_back(&stream);
  }
  if (ready.empty()) return false;
  auto& chosen = *ready[random() % ready.size()];
  const Piece piece = std::move(chosen.front());
  chosen.pop_front();
  if (piece.work) piece.work();
  return true;
}

void QueuedStreams::run_all(std::mt19937& random) {
  while (run_one(random)) {
  }
  for (const auto& stream : streams_) {
    MYXTTS_CHECK(stream.empty(), "streams wait for one another");
  }
}

// Recording counts up, and so does the stream when it gets there; what waits, waits for the count
// of its own day.
class QueuedEvent final : public Event::State {
 public:
  explicit QueuedEvent(QueuedStreams& streams) : streams_(streams) {}

  void record(const Stream& stream) override {
    const auto number = ++recorded_;
    streams_.queue(stream, [reached = reached_, number] { *reached = number; });
  }
  bool completed() const override { return *reached_ >= recorded_; }
  void hold_up(const Stream& stream) const override {
    streams_.streams_.at(static_cast<std::size_t>(stream.id))
        .push_back({[reached = reached_, number = recorded_] { return *reached >= number; }, {}});
  }
  void wait() const override { MYXTTS_CHECK(completed(), "a test waits for a queue"); }
  double milliseconds_since(const State&) const override { return 0; }

 private:
  QueuedStreams& streams_;
  std::int64_t recorded_ = 0;
  std::shared_ptr<std::int64_t> reached_ = std::make_shared<std::int64_t>(0);
};

QueuedDevice::QueuedDevice(Role role, int gpu, QueuedStreams& streams)
    : gpu_(gpu), streams_(streams), stream_(streams.make()), memory_(role, "a queue") {}

Stream QueuedDevice::make_stream() {
  return streams_.make();
}

Event QueuedDevice::make_event() const {
  return Event(std::make_unique<QueuedEvent>(streams_));
}

HostMemory QueuedDevice::host_memory(std::size_t bytes) const {
  return {new std::byte[bytes], [](std::byte* memory) { delete[] memory; }};
}

void QueuedDevice::copy(const Stream& stream, DeviceBytes to, DeviceBytes from,
                        std::size_t bytes) const {
  streams_.queue(stream, [=] { std::memcpy(to.data, from.data, bytes); });
}

}  // namespace myxtts::test
