// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "base/bounded_queue.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/thread_group.h"
#include "base/trace.h"
#include "device/plan/start_messages.h"
#include "device/role_device.h"
#include "device/stream.h"
#include "pipeline/host_batch.h"
#include "pipeline/host_stages.h"
#include "pipeline/pipeline_options.h"
#include "pipeline/pipeline_reading.h"
#include "pipeline/transfer_ring.h"

namespace myxtts {

// What computes features and sends them to the model device: FeatureStage on real devices.
//
//   make_slots(n, i)    n batches on the model device of trainer i, as large as they ever get
//   fill(host, slot)    queues everything that fills the slot, which is one of the trainer that the
//                       batch is for; records its `filled`
//   take_times()        when the data device worked on batches whose work has ended
//   finish()            waits until everything that was computed and is kept has been written
//
// One thread calls fill() and take_times(); finish() comes after it has ended, maybe twice.
template <typename F>
concept Features = requires(F features, HostBatch& host) {
  {
    features.make_slots(std::size_t{3}, std::size_t{0}).front().filled
    } -> std::convertible_to<const Event&>;
  features.fill(host, features.make_slots(std::size_t{3}, std::size_t{0}).front());
  features.take_times().front().began;
  features.finish();
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
  FeatureTimeReading feature_time_;  // where the features measure that much
};

// The whole way of a batch, from the files of a corpus to the model device:
//
//   reader ▶ clip loader ▶ batcher ▶ collator ▶ feature stage ▶ transfer ring ▶ Outlet::next()
//   └───────── HostStages ─────────────┘   └ FeatureLoop ┘ └───── Outlet ───────────────┘
//
// Batches come in the order of the plan, whatever the threads do. The device's part is a template
// argument: FeatureStage, or in tests one without a device.
//
// It feeds one trainer, or those of all ranks of the source, each through an outlet and from a
// thread of its own: Note [Batches of several trainers]. Each gets the batches that a pipeline of
// its own would give it, bit for bit.
//
// The source and the features outlive the pipeline, the pipeline every Slot it gave.
template <Features F>
class DataPipeline {
 public:
  class Outlet;
  using Ring = TransferRing<SlotBatch<F>>;
  using Slot = typename Ring::Slot;

  DataPipeline(BatchSource& source, F& features, const PipelineOptions& options)
      : options_(options),
        features_(features),
        host_(source, options),
        outlets_(make_outlets()),
        loop_(features, host_.output(), rings()),
        open_(outlets_.size()) {}
  DataPipeline(const DataPipeline&) = delete;
  DataPipeline& operator=(const DataPipeline&) = delete;
  ~DataPipeline();  // closes every outlet and waits for the threads' end

  // The first call starts the stages; the first batch is that of `position`. Any thread.
  void start(DataPosition position);

  Outlet& outlet(std::size_t trainer = 0) { return *outlets_[trainer]; }

 private:
  using Outlets = std::vector<std::unique_ptr<Outlet>>;

  Outlets make_outlets();
  std::vector<Ring*> rings() const;
  void finish();
  void join();

  const PipelineOptions options_;
  F& features_;
  HostStages host_;
  const Outlets outlets_;  // one for each trainer
  FeatureLoop<F> loop_;
  std::once_flag start_once_;
  Clock::Time started_{};
  std::atomic<std::size_t> open_;  // outlets
  std::mutex finishing_;

  ThreadGroup threads_;  // last: they use everything above
};

// Where one trainer takes its batches from a pipeline, and what of the pipeline is its own: the
// ring on its model device, and how long that device waited for batches.
//
// The trainer's thread, except close() and meters(), which are any thread's.
template <Features F>
class DataPipeline<F>::Outlet {
 public:
  using Slot = typename Ring::Slot;

  Outlet(DataPipeline& pipeline, std::vector<SlotBatch<F>> slots, const RoleDevice* device)
      : pipeline_(pipeline),
        ring_(std::move(slots)),
        steps_([device] { return device == nullptr ? Event() : device->make_event(); },
               device == nullptr ? Stream() : device->stream()) {}

  // As DataPipeline::start().
  void start(DataPosition position) { pipeline_.start(position); }

  // Waits until every slot is filled, or all data is there, and until --model-start-delay is over.
  // Throws what a stage failed with.
  StartWait wait_until_ready() {
    ring_.wait_until_full();
    const auto full = system_clock().now();
    ring_.wait_until(pipeline_.started_ + pipeline_.options_.start_delay);
    return {.for_data = full - pipeline_.started_,
            .for_delay = system_clock().now() - full,
            .ready_batches = static_cast<std::int64_t>(ring_.depth().current)};
  }

  // Waits for the next batch; nothing after the last one or after close(). The model's stream waits
  // for the batch's contents by itself. Throws what a stage failed with.
  [[nodiscard]] std::optional<Slot> next() {
    steps_.asked();
    std::optional<Slot> slot = ring_.take();
    if (slot) steps_.got((*slot)->filled, (*slot)->number);
    return slot;
  }

  // This trainer takes no more; others that the pipeline feeds go on. With the last one every stage
  // ends, whatever it waits for, after the clip or batch it is at. Waits for nothing; may be called
  // again.
  void close() {
    ring_.stop();
    if (!closed_.exchange(true) && --pipeline_.open_ == 0) pipeline_.host_.close();
  }

  // The same. The last trainer to do so waits until the stages have ended and what they computed is
  // in the feature cache, where there is one.
  void finish() {
    close();
    if (pipeline_.open_ == 0) pipeline_.finish();
  }

  // What all trainers share, and this one's ring and device.
  PipelineReading meters() const {
    PipelineReading reading = pipeline_.host_.read();
    reading.stages.push_back({.name = "features", .load = pipeline_.loop_.load()});
    reading.queues.push_back({.name = "ring", .capacity = ring_.size(), .depth = ring_.depth()});
    reading.readiness = steps_.readiness();
    reading.data_device = pipeline_.loop_.device_time();
    reading.features = pipeline_.loop_.feature_time();
    reading.model_device = steps_.device_time();
    return reading;
  }

  const PipelineOptions& options() const { return pipeline_.options_; }

 private:
  friend class DataPipeline;

  DataPipeline& pipeline_;
  Ring ring_;
  StepClock steps_;
  std::atomic<bool> closed_ = false;
};

template <Features F>
DataPipeline<F>::~DataPipeline() {
  for (const auto& outlet : outlets_) outlet->close();
  join();
}

template <Features F>
void DataPipeline<F>::start(DataPosition position) {
  std::call_once(start_once_, [&] {
    started_ = system_clock().now();
    host_.start(position);
    threads_.start("features", [this] { loop_.run(); });
  });
}

template <Features F>
void DataPipeline<F>::finish() {
  const std::lock_guard one_at_a_time(finishing_);
  join();
  features_.finish();
}

template <Features F>
void DataPipeline<F>::join() {
  host_.join();
  threads_.join();
}

template <Features F>
auto DataPipeline<F>::make_outlets() -> Outlets {
  Outlets outlets;
  for (const RoleDevice* trainer : options_.trainers) {
    outlets.push_back(std::make_unique<Outlet>(
        *this, features_.make_slots(options_.ring_slots, outlets.size()), trainer));
  }
  return outlets;
}

template <Features F>
auto DataPipeline<F>::rings() const -> std::vector<Ring*> {
  std::vector<Ring*> rings;
  for (const auto& outlet : outlets_) rings.push_back(&outlet->ring_);
  return rings;
}

}  // namespace myxtts
