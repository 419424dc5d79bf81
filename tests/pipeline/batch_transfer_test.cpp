// SPDX-License-Identifier: Apache-2.0
#include "pipeline/batch_transfer.h"

#include <array>
#include <cstdint>

#include <gtest/gtest.h>

#include "base/error.h"
#include "support/queued_device.h"

namespace myxtts::batch_transfer_test {
namespace {

using test::QueuedDevice;
using test::QueuedStreams;

using Array = std::array<std::int64_t, 16>;

// What the feature stage and the trainer do with a batch, on streams that run in any order their
// events allow: two sides on the data device take turns, and the slots of a ring.
class Bench {
 public:
  Bench(BatchPath path, std::size_t slots) : slots_(slots) {
    transfer_.emplace(data_, model_, path, 2 * sizeof(Array));
    for (auto& slot : slots_) {
      slot.filled = model_.make_event();
      slot.consumed = model_.make_event();
    }
    for (auto& side : sides_) {
      side.made = data_.make_event();
      side.left = data_.make_event();
    }
  }

  void queue_batch(std::int64_t number) {
    Side& side = sides_[static_cast<std::size_t>(number) % sides_.size()];
    Slot& slot = slots_[static_cast<std::size_t>(number) % slots_.size()];
    side.left.hold_up(data_.stream());
    streams_.queue(data_.stream(), [&side, number] {
      side.first.fill(number);
      side.second.fill(-number);
    });
    side.made.record(data_.stream());

    const std::array<TransferPiece, 2> pieces = {
        {{.to = {&slot.first}, .from = {&side.first}, .bytes = sizeof(Array)},
         {.to = {&slot.second}, .from = {&side.second}, .bytes = sizeof(Array)}}};
    transfer_->send(
        pieces,
        {.made = side.made, .free = slot.consumed, .left = side.left, .arrived = slot.filled});

    slot.filled.hold_up(model_.stream());
    streams_.queue(model_.stream(), [this, &slot, number] {
      Array expected;
      expected.fill(number);
      EXPECT_EQ(slot.first, expected);
      expected.fill(-number);
      EXPECT_EQ(slot.second, expected);
      ++trained_;
    });
    slot.consumed.record(model_.stream());
  }

  QueuedStreams& streams() { return streams_; }
  std::int64_t trained() const { return trained_; }

 private:
  struct Side {
    Array first = {};
    Array second = {};
    Event made;
    Event left;
  };
  struct Slot {
    Array first = {};
    Array second = {};
    Event filled;
    Event consumed;
  };

  QueuedStreams streams_;
  QueuedDevice data_{Role::Data, 0, streams_};
  QueuedDevice model_{Role::Model, 1, streams_};
  std::optional<BatchTransfer> transfer_;
  std::array<Side, 2> sides_;
  std::vector<Slot> slots_;
  std::int64_t trained_ = 0;
};

class EveryPath : public ::testing::TestWithParam<BatchPath> {};

TEST_P(EveryPath, TheTrainerReadsItsOwnBatchInEveryOrderThatEventsAllow) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    std::mt19937 random(seed);
    Bench bench(GetParam(), 2 + seed % 3);
    constexpr std::int64_t kBatches = 20;
    for (std::int64_t number = 0; number < kBatches; ++number) {
      bench.queue_batch(number);
      for (auto pieces = random() % 8; pieces > 0; --pieces) bench.streams().run_one(random);
    }
    bench.streams().run_all(random);
    EXPECT_EQ(bench.trained(), kBatches);
  }
}

INSTANTIATE_TEST_SUITE_P(BatchTransfer, EveryPath,
                         ::testing::Values(BatchPath::P2p, BatchPath::PinnedHost,
                                           BatchPath::SameDevice, BatchPath::PlainMemory));

TEST(BatchTransfer, ABatchLargerThanTheHostMemoryOnTheWayIsAnError) {
  QueuedStreams streams;
  QueuedDevice data(Role::Data, 0, streams);
  QueuedDevice model(Role::Model, 1, streams);
  BatchTransfer transfer(data, model, BatchPath::PinnedHost, 64);
  Array from = {};
  Array to = {};
  const TransferPiece piece = {.to = {&to}, .from = {&from}, .bytes = sizeof(Array)};
  Event made = data.make_event();
  Event free = model.make_event();
  Event left = data.make_event();
  Event arrived = model.make_event();
  EXPECT_THROW(
      transfer.send({&piece, 1}, {.made = made, .free = free, .left = left, .arrived = arrived}),
      InternalError);
}

}  // namespace
}  // namespace myxtts::batch_transfer_test
