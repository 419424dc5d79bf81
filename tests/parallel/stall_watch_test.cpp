// SPDX-License-Identifier: Apache-2.0
#include "parallel/stall_watch.h"

#include <atomic>
#include <future>
#include <memory>
#include <random>

#include <gtest/gtest.h>

#include "support/plain_device.h"

namespace myxtts::test::stall_watch_test {
namespace {

using namespace std::chrono_literals;

constexpr auto kLong = 10s;  // of a machine that does other things too

// A device that gets to its marks when it is told to.
class HeldDevice final : public RoleDevice {
 public:
  std::string name() const override { return "a held device"; }
  int gpu() const override { return -1; }
  Stream stream() const override { return {}; }
  Stream make_stream() override { return {}; }
  Event make_event() const override { return Event(std::make_unique<Mark>(*this)); }
  HostMemory host_memory(std::size_t bytes) const override { return plain_memory(bytes); }
  void copy(const Stream&, DeviceBytes, DeviceBytes, std::size_t) const override {}
  std::unique_ptr<Scope> enter(const Stream&) override { return std::make_unique<Scope>(); }
  const RoleMemory& memory() const override { return memory_; }
  void rethrow() const override { throw; }

  mutable std::atomic<int> marks = 0;
  std::atomic<int> reached = 0;
  std::atomic<bool> failed = false;

 private:
  class Mark final : public Event::State {
   public:
    explicit Mark(const HeldDevice& device) : device_(device) {}
    void record(const Stream&) override { number_ = ++device_.marks; }
    bool completed() const override {
      if (device_.failed) throw std::runtime_error("the device is gone");
      return number_ <= device_.reached;
    }
    void hold_up(const Stream&) const override {}
    void wait() const override {}
    double milliseconds_since(const State&) const override { return 0; }

   private:
    const HeldDevice& device_;
    int number_ = 0;
  };

  RoleMemory memory_{Role::Model, "a held device"};
};

struct Watched {
  explicit Watched(std::chrono::milliseconds timeout, std::chrono::milliseconds patience = kLong)
      : watch(
            device, [this] { return lost.load(); },
            [this] {
              ++given_up;
              told.set_value();
            },
            timeout, patience) {
    watch.start();
  }

  bool gives_up_soon() { return told.get_future().wait_for(kLong) == std::future_status::ready; }

  HeldDevice device;
  std::atomic<bool> lost = false;
  std::atomic<int> given_up = 0;
  std::promise<void> told;
  StallWatch watch;
};

TEST(StallWatch, ADeviceThatStandsStillTooLongIsGivenUpOnce) {
  Watched one(50ms);
  one.watch.mark();
  one.watch.mark();
  EXPECT_TRUE(one.gives_up_soon());
  EXPECT_TRUE(one.watch.gave_up());
  EXPECT_FALSE(one.watch.wait_for_marks());
  EXPECT_EQ(one.given_up, 1);
}

TEST(StallWatch, ADeviceThatMovesOrHasNothingToDoIsNot) {
  Watched one(kLong);
  EXPECT_TRUE(one.watch.wait_for_marks()) << "nothing was marked";
  for (int step = 1; step <= 20; ++step) {
    one.watch.mark();
    one.device.reached = step;
  }
  EXPECT_TRUE(one.watch.wait_for_marks());
  EXPECT_EQ(one.given_up, 0);
}

// Then --rank-timeout would be a waste of time.
TEST(StallWatch, WhereARankIsLostItsPatienceCounts) {
  Watched one(1h, 50ms);
  one.watch.mark();
  one.lost = true;
  EXPECT_TRUE(one.gives_up_soon());
}

TEST(StallWatch, WhoSettlesWaitsForTheDeviceAndThenGivesUp) {
  Watched moves(1h, kLong);
  moves.watch.mark();
  std::thread device([&moves] { moves.device.reached = 1; });
  EXPECT_TRUE(moves.watch.wait_for_marks());
  device.join();
  Watched stands(1h, 30ms);
  stands.watch.mark();
  EXPECT_FALSE(stands.watch.wait_for_marks());
  EXPECT_EQ(stands.given_up, 1);
}

TEST(StallWatch, ADeviceThatFailsIsGivenUp) {
  Watched one(1h);
  one.device.failed = true;
  one.watch.mark();
  EXPECT_TRUE(one.gives_up_soon());
  EXPECT_FALSE(one.watch.wait_for_marks());
}

}  // namespace
}  // namespace myxtts::test::stall_watch_test
