// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/thread_group.h"
#include "pipeline/batch_outlet.h"
#include "pipeline/feature_loop.h"
#include "pipeline/host_stages.h"

namespace myxtts {

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

}  // namespace myxtts
