// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <semaphore>
#include <utility>

#include "diagnose/validate/validation.h"
#include "pipeline/data_pipeline.h"
#include "pipeline/pipeline_bench.h"

namespace myxtts::test {

// A device that is another one, but for what a test breaks.
class BrokenDevice final : public RoleDevice {
 public:
  explicit BrokenDevice(std::unique_ptr<RoleDevice> sound) : sound_(std::move(sound)) {}

  std::string name() const override { return sound_->name(); }
  int gpu() const override { return gpu_number.value_or(sound_->gpu()); }
  Stream stream() const override { return sound_->stream(); }
  Stream make_stream() override { return sound_->make_stream(); }
  Event make_event() const override { return sound_->make_event(); }
  HostMemory host_memory(std::size_t bytes) const override { return sound_->host_memory(bytes); }
  void copy(const Stream& stream, DeviceBytes to, DeviceBytes from,
            std::size_t bytes) const override {
    sound_->copy(stream, to, from, bytes);
    if (after_copy) after_copy(static_cast<unsigned char*>(to.data), bytes);
    if (on_queued_copy) on_queued_copy(stream, to, bytes);
  }
  std::unique_ptr<Scope> enter(const Stream& stream) override { return sound_->enter(stream); }
  const RoleMemory& memory() const override { return sound_->memory(); }
  void rethrow() const override { sound_->rethrow(); }

  std::function<void(unsigned char* to, std::size_t bytes)> after_copy = {};  // on the CPU
  std::function<void(const Stream&, DeviceBytes to, std::size_t bytes)> on_queued_copy = {};
  std::optional<int> gpu_number = {};

 private:
  const std::unique_ptr<RoleDevice> sound_;
};

// As a device at work does: takes time and no processor, so that a busy machine changes little.
inline void busy_for(std::chrono::microseconds time) {
  std::mutex mutex;
  std::condition_variable never;
  std::unique_lock lock(mutex);
  const auto end = std::chrono::steady_clock::now() + time;
  while (never.wait_until(lock, end) != std::cv_status::timeout) {
  }
}

// How a pipeline without a device works, and what is wrong with it.
struct BusyWork {
  std::chrono::microseconds features{12'000};
  std::chrono::microseconds step{16'000};
  std::chrono::microseconds idle{0};  // of the feature stage, before each batch
  bool in_series = false;    // features are made when the trainer has no batch left, not before
  std::size_t batches = 24;  // that there are
};

// Takes time for each batch, by its own clock, and does nothing else.
class BusyFeatures {
 public:
  BusyFeatures(const BusyWork& work, std::counting_semaphore<>& permits)
      : work_(work), permits_(permits) {}

  struct Batch {
    std::int64_t number = -1;
    Event filled;
  };
  struct Times {
    std::int64_t number = -1;
    Event began;
    Event ended;
  };

  std::vector<Batch> make_slots(std::size_t count, std::size_t /*trainer*/ = 0) const {
    std::vector<Batch> slots;
    for (std::size_t i = 0; i < count; ++i) slots.emplace_back();
    return slots;
  }

  void fill(HostBatch& host, Batch& slot) {
    busy_for(work_.idle);
    if (work_.in_series) permits_.acquire();
    Times times;
    times.number = host.number;
    times.began.record({});
    busy_for(work_.features);
    times.ended.record({});
    times_.push_back(std::move(times));
    slot.number = host.number;
    slot.filled.record({});
  }

  std::vector<Times> take_times() { return std::exchange(times_, {}); }

 private:
  const BusyWork work_;
  std::counting_semaphore<>& permits_;
  std::vector<Times> times_;
};

// A training of busy steps through the real pipeline.
inline TrialReading busy_pipeline(const BusyWork& work) {
  std::counting_semaphore<> permits(3);  // that fill the ring
  MemoryCorpus corpus({.clips = work.batches * 4, .batch_size = 4});
  BusyFeatures features(work, permits);
  DataPipeline<BusyFeatures> pipeline(corpus, features, pipeline_options({}));
  pipeline.start({});
  pipeline.wait_until_ready();
  const PipelineReading before = pipeline.meters();
  const auto began = system_clock().now();
  TrialReading trial;
  while (trial.batches < kPipelineSteps) {
    if (pipeline.meters().queue("ring").depth.current == 0) permits.release();
    const auto slot = pipeline.next();
    if (!slot) break;
    busy_for(work.step);
    ++trial.batches;
    trial.clips += 4;
  }
  trial.wall_seconds = seconds_in(system_clock().now() - began);
  trial.pipeline = between(before, pipeline.meters());
  permits.release(static_cast<std::ptrdiff_t>(work.batches));  // so that nobody is left waiting
  pipeline.stop();
  return trial;
}

}  // namespace myxtts::test
