// SPDX-License-Identifier: Apache-2.0
#include "support/threaded_device.h"

#include <cstring>
#include <future>
#include <utility>

#include "base/error.h"

namespace myxtts::test {

class ThreadedDevice::Worker {
 public:
  Worker() : thread_([this] { loop(); }) {}
  ~Worker() {
    add({});  // the end
    thread_.join();
  }

  void add(std::function<void()> work) {
    {
      const std::lock_guard lock(mutex_);
      queue_.push_back(std::move(work));
    }
    came_.notify_one();
  }

 private:
  void loop() {
    for (;;) {
      std::unique_lock lock(mutex_);
      came_.wait(lock, [this] { return !queue_.empty(); });
      const auto work = std::move(queue_.front());
      queue_.pop_front();
      lock.unlock();
      if (!work) return;
      work();
    }
  }

  std::mutex mutex_;
  std::condition_variable came_;
  std::deque<std::function<void()>> queue_;
  std::thread thread_;  // last: it uses what is above
};

namespace {

// Each record() is a promise of its own, so that a later one moves the mark.
class ThreadedEvent final : public Event::State {
 public:
  explicit ThreadedEvent(const ThreadedDevice& device) : device_(device) {}

  void record(const Stream& stream) override {
    const auto reached = std::make_shared<std::promise<void>>();
    reached_ = reached->get_future().share();
    device_.run(stream, [reached] { reached->set_value(); });
  }
  bool completed() const override {
    return reached_.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  }
  void hold_up(const Stream& stream) const override {
    device_.run(stream, [reached = reached_] { reached.wait(); });
  }
  void wait() const override { reached_.wait(); }
  double milliseconds_since(const State&) const override { return 0; }

 private:
  const ThreadedDevice& device_;
  std::shared_future<void> reached_;
};

}  // namespace

ThreadedDevice::ThreadedDevice(int gpu) : gpu_(gpu), memory_(Role::Model, "a device of threads") {
  (void)make_stream();
}

ThreadedDevice::~ThreadedDevice() = default;

void ThreadedDevice::run(const Stream& stream, std::function<void()> work) const {
  workers_.at(static_cast<std::size_t>(stream.id))->add(std::move(work));
}

void ThreadedDevice::synchronize(const Stream& stream) const {
  Event mark = make_event();
  mark.record(stream);
  mark.wait();
}

Stream ThreadedDevice::make_stream() {
  workers_.push_back(std::make_unique<Worker>());
  return {.gpu = gpu_, .id = static_cast<std::int64_t>(workers_.size()) - 1};
}

Event ThreadedDevice::make_event() const {
  return Event(std::make_unique<ThreadedEvent>(*this));
}

HostMemory ThreadedDevice::host_memory(std::size_t bytes) const {
  if (bytes > most_host_memory_) throw DeviceError("There is no room for it.");
  return {new std::byte[bytes], [](std::byte* memory) { delete[] memory; }};
}

void ThreadedDevice::copy(const Stream& stream, DeviceBytes to, DeviceBytes from,
                          std::size_t bytes) const {
  run(stream, [=] {
    if (bytes > 0) std::memcpy(to.data, from.data, bytes);
  });
}

}  // namespace myxtts::test
