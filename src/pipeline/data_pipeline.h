// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <utility>

#include "base/log.h"
#include "base/thread_group.h"
#include "pipeline/feature_loop.h"
#include "pipeline/host_stages.h"
#include "pipeline/step_clock.h"
#include "pipeline/transfer_ring.h"

namespace myxtts {

struct PipelineOptions {
  HostOptions host = {};
  std::size_t ring_slots = 3;                 // on the model device
  std::chrono::nanoseconds start_delay = {};  // --model-start-delay; 0 where it does not apply
  std::function<Event()> make_event = [] { return Event(); };  // on the model device
  Stream model_stream = {};                                    // where the trainer computes
};

// How long the start of training waited, and for what.
struct StartReport {
  std::chrono::nanoseconds for_data{};   // until every slot of the ring was filled
  std::chrono::nanoseconds for_delay{};  // what was left of --model-start-delay then
};

// The whole way of a batch, from the files of a corpus to the model device:
//
//   reader ▶ decoder ▶ batcher ▶ collator ▶ feature stage ▶ transfer ring ▶ next()
//   └───────── HostStages ─────────────┘   └ FeatureLoop ┘
//
// Batches come in the order of the plan, whatever the threads do. The device's part is a template
// argument: FeatureStage, or in tests one without a device.
//
// start(), wait_until_ready(), next() and stop() are the trainer's thread; close() and meters() any
// thread's.
// The source and the features outlive the pipeline, the pipeline every Slot it gave.
template <Features F>
class DataPipeline {
 public:
  using Slot = typename TransferRing<SlotBatch<F>>::Slot;

  DataPipeline(BatchSource& source, F& features, const PipelineOptions& options)
      : options_(options),
        host_(source, options.host),
        ring_(features.make_slots(options.ring_slots)),
        loop_(features, host_.output(), ring_),
        steps_(options.make_event, options.model_stream) {}
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
  StartReport wait_until_ready() {
    ring_.wait_until_full();
    const auto full = system_clock().now();
    {
      std::unique_lock lock(mutex_);
      stop_called_.wait_until(lock, started_ + options_.start_delay, [this] { return stopped_; });
    }
    return {.for_data = full - started_, .for_delay = system_clock().now() - full};
  }

  // Waits for the next batch; nothing after the last one or after stop(). The model's stream waits
  // for the batch's contents by itself. Throws what a stage failed with.
  [[nodiscard]] std::optional<Slot> next() {
    steps_.asked();
    std::optional<Slot> slot = ring_.take();
    if (slot) steps_.got((*slot)->filled, (*slot)->number);
    return slot;
  }

  // Everybody leaves, whatever they wait for, after the clip or batch they are at. Any thread;
  // waits for nothing.
  void close() {
    {
      const std::lock_guard lock(mutex_);
      stopped_ = true;
      stop_called_.notify_all();
    }
    ring_.stop();
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

  PipelineReading meters() const {
    PipelineReading reading = host_.read();
    reading.stages.push_back({.name = "features", .load = loop_.load()});
    reading.queues.push_back({.name = "ring", .capacity = ring_.size(), .depth = ring_.depth()});
    reading.readiness = steps_.readiness();
    reading.data_device = loop_.device_time();
    reading.features = loop_.feature_time();
    reading.model_device = steps_.device_time();
    return reading;
  }

 private:
  const PipelineOptions options_;
  HostStages host_;
  TransferRing<SlotBatch<F>> ring_;
  FeatureLoop<F> loop_;
  StepClock steps_;
  Clock::Time started_{};
  std::mutex stopping_;

  // These three are guarded by mutex_.
  std::mutex mutex_;
  std::condition_variable stop_called_;
  bool stopped_ = false;

  ThreadGroup threads_;  // last: they use everything above
};

}  // namespace myxtts
