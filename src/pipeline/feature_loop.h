// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <exception>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "base/bounded_queue.h"
#include "base/meter.h"
#include "base/trace.h"
#include "pipeline/device_timeline.h"
#include "pipeline/host_batch.h"
#include "pipeline/pipeline_reading.h"
#include "pipeline/transfer_ring.h"

namespace myxtts {

// What computes features and sends them to the model device: FeatureStage on real devices.
//
//   make_slots(n, i)    n batches on the model device of trainer i, as large as they ever get
//   fill(host, slot)    queues everything that fills the slot, which is one of the trainer that the
//                       batch is for; records its `filled`
//   take_times()        when the data device worked on batches whose work has ended
//
// One thread calls the last two.
template <typename F>
concept Features = requires(F features, HostBatch& host) {
  {
    features.make_slots(std::size_t{3}, std::size_t{0}).front().filled
    } -> std::convertible_to<const Event&>;
  features.fill(host, features.make_slots(std::size_t{3}, std::size_t{0}).front());
  features.take_times().front().began;
};

template <Features F>
using SlotBatch = typename decltype(std::declval<F&>().make_slots(1, 0))::value_type;

// The thread of the feature stage: takes staged batches, has the devices fill slots with them and
// hands each to the trainer it is for, through the ring of that trainer. Waits for queues and never
// for a device. A trainer that has left is passed over; the others go on.
//
// Everything it is given outlives it.
template <Features F>
class FeatureLoop {
 public:
  using Ring = TransferRing<SlotBatch<F>>;

  // One ring for each trainer.
  FeatureLoop(F& features, BoundedQueue<HostBatch>& input, std::vector<Ring*> rings)
      : features_(features), input_(input), rings_(std::move(rings)) {}

  // Works until the last batch or until all trainers have left. Never throws: a failure goes to
  // everybody who takes from a ring.
  void run() {
    try {
      work();
      for (Ring* ring : rings_) ring->finish();
    } catch (...) {
      for (Ring* ring : rings_) ring->fail(std::current_exception());
    }
    input_.stop();  // after the last batch this changes nothing
  }

  LoadReading load() const { return meter_.read(); }

  DeviceTimeReading device_time() const {
    const std::lock_guard lock(mutex_);
    return device_time_;
  }
  FeatureTimeReading feature_time() const {
    const std::lock_guard lock(mutex_);
    return feature_time_;
  }

 private:
  void work() {
    const auto busy = meter_.busy();
    while (true) {
      auto host = [this] {
        const auto waiting = meter_.waiting_for_input();
        return input_.pop();
      }();
      if (!host) return;
      Ring& ring = *rings_.at(host->trainer);
      auto slot = [this, &ring] {
        const auto waiting = meter_.waiting_for_output();
        return ring.claim();
      }();
      if (!slot && everybody_has_left()) return;
      if (!slot) continue;
      fill(*host, **slot);
      ring.publish(std::move(*slot));
    }
  }

  bool everybody_has_left() const {
    return std::ranges::all_of(rings_, [](const Ring* ring) { return ring->stopped(); });
  }

  void fill(HostBatch& host, SlotBatch<F>& slot) {
    const TraceScope trace("features", host.number);
    if (began_ == Clock::Time{}) began_ = system_clock().now();
    features_.fill(host, slot);
    for (auto& times : features_.take_times()) count(times);
  }

  void count(auto& times) {
    const double busy = times.ended.milliseconds_since(times.began) / 1000;
    {
      const std::lock_guard lock(mutex_);
      ++device_time_.batches;
      device_time_.busy_seconds += busy;
      if constexpr (requires { times.add_to(feature_time_); }) times.add_to(feature_time_);
    }
    const bool is_first = !timeline_.has_anchor();
    const auto from = is_first ? began_ : timeline_.time_of(times.began);
    const std::chrono::duration<double> duration(busy);
    if (tracing()) {
      const auto to = from + std::chrono::duration_cast<Clock::Time::duration>(duration);
      trace_lane("data stream").add("features", from, to, times.number);
    }
    if (is_first) timeline_.set_anchor(std::move(times.began), began_);
  }

  F& features_;
  BoundedQueue<HostBatch>& input_;
  const std::vector<Ring*> rings_;
  LoadMeter meter_;
  Clock::Time began_{};  // the first batch; the stage's thread
  DeviceTimeline timeline_;

  // Everything below is guarded by mutex_.
  mutable std::mutex mutex_;
  DeviceTimeReading device_time_;
  FeatureTimeReading feature_time_;  // where the features tell that much
};

}  // namespace myxtts
