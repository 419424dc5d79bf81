// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <concepts>
#include <condition_variable>
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
#include "config/run_config.h"
#include "device/machine.h"
#include "device/plan/device_plan.h"
#include "device/stream.h"
#include "pipeline/host_batch.h"
#include "pipeline/host_stages.h"
#include "pipeline/pipeline_reading.h"
#include "pipeline/step_clock.h"
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

// The model device's side of a trainer.
struct TrainerSide {
  std::function<Event()> make_event = [] { return Event(); };  // on its model device
  Stream stream = {};                                          // where it computes
};

// Where one trainer takes its batches from a pipeline, and what of the pipeline is its own: the
// ring on its model device, and how long that device waited for batches.
//
// next() and wait_until_full() are the trainer's thread; leave() and the readings any thread's.
template <typename Batch>
class BatchOutlet {
 public:
  using Ring = TransferRing<Batch>;
  using Slot = typename Ring::Slot;

  BatchOutlet(std::vector<Batch> slots, const TrainerSide& trainer)
      : ring_(std::move(slots)), steps_(trainer.make_event, trainer.stream) {}

  // Waits until every slot is filled, or all data is there. Throws what a stage failed with.
  void wait_until_full() { ring_.wait_until_full(); }

  // Waits for the next batch; nothing after the last one or after leave(). The model's stream waits
  // for the batch's contents by itself. Throws what a stage failed with.
  [[nodiscard]] std::optional<Slot> next() {
    steps_.asked();
    std::optional<Slot> slot = ring_.take();
    if (slot) steps_.got((*slot)->filled, (*slot)->number);
    return slot;
  }

  // This trainer wants no more; others that the pipeline feeds are not disturbed.
  void leave() { ring_.stop(); }

  Ring& ring() { return ring_; }

  // Adds what is this trainer's own.
  void add_to(PipelineReading& reading) const {
    reading.queues.push_back({.name = "ring", .capacity = ring_.size(), .depth = ring_.depth()});
    reading.readiness = steps_.readiness();
    reading.model_device = steps_.device_time();
  }

 private:
  Ring ring_;
  StepClock steps_;
};

struct PipelineOptions {
  HostOptions host = {};
  std::size_t ring_slots = 3;                 // on the model device
  std::chrono::nanoseconds start_delay = {};  // --model-start-delay; 0 where it does not apply
  std::vector<TrainerSide> trainers = std::vector<TrainerSide>(1);
};

// How long the start of training waited, and for what.
struct StartReport {
  std::chrono::nanoseconds for_data{};   // until every slot of the ring was filled
  std::chrono::nanoseconds for_delay{};  // what was left of --model-start-delay then
};

// The whole way of a batch, from the files of a corpus to the model device:
//
//   reader ▶ decoder ▶ batcher ▶ collator ▶ feature stage ▶ transfer ring ▶ next()
//   └───────── HostStages ─────────────┘   └ FeatureLoop ┘ └─ BatchOutlet ───────┘
//
// Batches come in the order of the plan, whatever the threads do. The device's part is a template
// argument: FeatureStage, or in tests one without a device.
//
// It feeds one trainer, or those of all ranks of the source, each through an outlet and from a
// thread of its own: Note [Batches of several trainers]. Each gets the batches that a pipeline of
// its own would give it, bit for bit.
//
// start() and stop() are the owner's thread, wait_until_ready() and next() the trainer's, each with
// its own number; the others are any thread's. The source and the features outlive the pipeline,
// the pipeline every Slot it gave.
template <Features F>
class DataPipeline {
 public:
  using Outlet = BatchOutlet<SlotBatch<F>>;
  using Slot = typename Outlet::Slot;

  DataPipeline(BatchSource& source, F& features, const PipelineOptions& options)
      : options_(options),
        host_(source, host_options(options)),
        outlets_(make_outlets(features, options)),
        loop_(features, host_.output(), rings()) {}
  DataPipeline(const DataPipeline&) = delete;
  DataPipeline& operator=(const DataPipeline&) = delete;
  ~DataPipeline() { stop(); }

  // Once. The first batch is that of `position`.
  void start(DataPosition position) {
    started_ = system_clock().now();
    host_.start(position);
    threads_.start("features", [this] { loop_.run(); });
  }

  // Waits until every slot is filled, or all data is there, and until --model-start-delay is over.
  // Throws what a stage failed with.
  StartReport wait_until_ready(std::size_t trainer = 0) {
    outlets_[trainer]->wait_until_full();
    const auto full = system_clock().now();
    {
      std::unique_lock lock(mutex_);
      stop_called_.wait_until(lock, started_ + options_.start_delay, [this] { return stopped_; });
    }
    return {.for_data = full - started_, .for_delay = system_clock().now() - full};
  }

  // Waits for the next batch; nothing after the last one or after stop(). The model's stream waits
  // for the batch's contents by itself. Throws what a stage failed with.
  [[nodiscard]] std::optional<Slot> next(std::size_t trainer = 0) {
    return outlets_[trainer]->next();
  }

  std::size_t trainers() const { return outlets_.size(); }

  // One trainer wants no more; the others go on.
  void leave(std::size_t trainer) { outlets_[trainer]->leave(); }

  // Everybody leaves, whatever they wait for, after the clip or batch they are at. Any thread;
  // waits for nothing.
  void close() {
    {
      const std::lock_guard lock(mutex_);
      stopped_ = true;
      stop_called_.notify_all();
    }
    for (const auto& outlet : outlets_) outlet->leave();
    host_.close();
  }

  // The same, and waits for the threads' end. May be called again, and by any thread while another
  // one is in next().
  void stop() {
    const std::lock_guard one_at_a_time(stopping_);
    close();
    host_.stop();
    threads_.join();
  }

  // What all trainers share, and what is the own of one.
  PipelineReading meters(std::size_t trainer = 0) const {
    PipelineReading reading = host_.read();
    reading.stages.push_back({.name = "features", .load = loop_.load()});
    reading.data_device = loop_.device_time();
    reading.features = loop_.feature_time();
    outlets_[trainer]->add_to(reading);
    return reading;
  }

 private:
  using Outlets = std::vector<std::unique_ptr<Outlet>>;

  static HostOptions host_options(const PipelineOptions& options) {
    HostOptions host = options.host;
    host.trainers = static_cast<std::int64_t>(options.trainers.size());
    return host;
  }

  static Outlets make_outlets(F& features, const PipelineOptions& options) {
    Outlets outlets;
    for (const TrainerSide& trainer : options.trainers) {
      outlets.push_back(std::make_unique<Outlet>(
          features.make_slots(options.ring_slots, outlets.size()), trainer));
    }
    return outlets;
  }

  std::vector<typename Outlet::Ring*> rings() const {
    std::vector<typename Outlet::Ring*> rings;
    for (const auto& outlet : outlets_) rings.push_back(&outlet->ring());
    return rings;
  }

  const PipelineOptions options_;
  HostStages host_;
  const Outlets outlets_;  // one for each trainer
  FeatureLoop<F> loop_;
  Clock::Time started_{};
  std::mutex stopping_;

  // These three are guarded by mutex_.
  std::mutex mutex_;
  std::condition_variable stop_called_;
  bool stopped_ = false;

  ThreadGroup threads_;  // last: they use everything above
};

// What --num-workers auto begins with: a quarter of the cores. It may end with all of them.
std::size_t first_workers(const CpuInfo& cpu);

// Batches that --buffer-size auto begins with.
inline constexpr std::size_t kFirstBuffer = 8;

// Decoded clips may take this share of the memory that is free at the start.
inline constexpr double kBufferShare = 0.25;

// The settings of a run as a pipeline takes them; the devices' own (events, streams, host memory)
// are left to whoever opens those. The start waits for --model-start-delay in `dual` and `split`
// only.
PipelineOptions pipeline_options(const DataConfig& data, const TrainConfig& train,
                                 const DevicePlan& plan, const CpuInfo& cpu,
                                 const MemoryInfo& memory);

// --prompt-mask as the rows take it; prompts of other clips hide nothing.
PromptMask mask_of(const TrainConfig& train);

// "The pipeline was ready after 3.1 s: 1.1 s until the ring of 3 was full, then 2.0 s of
// --model-start-delay."
std::string describe(const StartReport& report, std::size_t ring_slots);

}  // namespace myxtts
