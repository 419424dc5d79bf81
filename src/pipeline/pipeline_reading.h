// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "device/stream.h"

namespace myxtts {

// Where the threads of one stage spent their time.
struct StageReading {
  std::string name;
  std::size_t workers = 1;  // at work now
  LoadReading load = {};    // of all of them together
  std::int64_t clips = 0;   // of the stages that work clip by clip: how many they did
  double cpu_seconds = 0;   // of the clip loaders: the part of their busy time that they computed
};

// A stage's busy time, or what it waited, of all its time.
double share_of(std::chrono::nanoseconds part, const LoadReading& load);

// What waits between two stages.
struct QueueReading {
  std::string name;
  std::size_t capacity = 0;  // now
  DepthReading depth = {};
};

// What a device did, by its own clock.
struct DeviceTimeReading {
  std::int64_t batches = 0;
  double busy_seconds = 0;
};

// Where the time of a batch went between its staging block and its slot, by the devices' clocks.
struct FeatureTimeReading {
  std::int64_t batches = 0;
  double upload_seconds = 0;    // from the staging block to the data device
  double encode_seconds = 0;    // sound to codes: what a feature cache saves
  double prompt_seconds = 0;    // rows and prompt spectrograms
  double transfer_seconds = 0;  // from the data device to the slot
  double sending_seconds = 0;   // of the stage's thread: handing those copies over
  std::int64_t transfer_bytes = 0;
};

// How often the trainer found its batch waiting. A step is ready when its batch was on the model
// device before the step before it had ended there.
struct ReadinessReading {
  std::int64_t steps = 0;
  std::int64_t ready = 0;
  double waited_seconds = 0;  // of the model device, for batches
  double step_seconds = 0;    // of all steps, waits included
  double step_squares = 0;    // their squares: how much steps differ follows from both

  double share() const;  // 1 before the first step
};

// Everything a pipeline measures about itself, since it was started. The one thing that `profile`,
// the metrics, autotune and the trace read; the difference of two readings is about the time
// between them.
struct PipelineReading {
  std::vector<StageReading> stages;  // in order of flow
  std::vector<QueueReading> queues;  // in order of flow
  std::int64_t batches = 0;          // that left the batcher
  std::size_t decoded_bytes = 0;     // held in host memory now
  std::size_t decoded_bytes_limit = 0;
  std::size_t staging_bytes = 0;  // pinned, where the data device is a GPU
  ReadinessReading readiness;
  DeviceTimeReading data_device;
  FeatureTimeReading features;  // its parts, and the way to the model device
  DeviceTimeReading model_device;

  // Throws InternalError when there is none of that name.
  const StageReading& stage(std::string_view name) const;
  const QueueReading& queue(std::string_view name) const;
};

// What happened between two readings of one pipeline. What is counted "now" is as in the later one.
PipelineReading between(const PipelineReading& earlier, const PipelineReading& later);

// A line for each stage and queue, for logs: "decoder   7 workers  busy 83 %  waits for input 17
// %".
std::string describe(const PipelineReading& reading);

// The depths of the queues as curves of the trace, where one is written.
void trace_reading(const PipelineReading& reading);

// Kinds of work of the pipeline and of the step.
enum class Work { ListingFiles, ReadingFiles, Decoding, Features, Transfer, Step };

// Looks into stages more closely than their meters do, for a trial: what part of decoding was
// waiting for files. A test that makes some work slow hooks in here. A run has no
// probe.
//
// Any thread. It outlives the stages.
struct StageProbe {
  // Called where that work is really done (not for clips that a cache holds), in its thread.
  std::function<void(Work)> on_work = {};

  // Where a test wants padding: to so many token counts, each of at least so many tokens, wherever
  // the model is; 0 and 0: as a run.
  std::int64_t token_counts = 0;
  std::int64_t least_tokens = 0;

  std::atomic<std::int64_t> file_nanoseconds = 0;  // of clip loaders, reading files

  void report(Work work) const {
    if (on_work) on_work(work);
  }
};

// Where the marks of a device stand in the host's time, for the trace: counted from an event that
// was recorded while the device had nothing else to do.
class DeviceTimeline {
 public:
  // `event` is kept: it is not recorded again.
  void set_anchor(Event event, Clock::Time at) {
    anchor_.emplace(std::move(event));
    at_ = at;
  }
  bool has_anchor() const { return anchor_.has_value(); }

  // Both completed.
  Clock::Time time_of(const Event& event) const {
    const std::chrono::duration<double, std::milli> since(event.milliseconds_since(*anchor_));
    return at_ + std::chrono::duration_cast<Clock::Time::duration>(since);
  }

 private:
  std::optional<Event> anchor_;
  Clock::Time at_{};
};

// Tells by events on the model device how long each step took there and how long the device waited
// for its batch, and keeps the host from running far ahead of it.
//
//   model's stream:  ...step n │asked n+1│ (waits) │got n+1│ step n+1 ... │asked n+2│ ...
//
// `asked` is marked behind everything that was queued before the trainer asked for the batch, `got`
// behind the wait for it: between the two the device had nothing to do. On the CPU a mark is
// reached at once, and the same two marks enclose the time that the trainer waited.
//
// The trainer's thread calls asked() and got(); any thread may read.
class StepClock {
 public:
  // Steps that may be queued on the device behind the one it works on.
  static constexpr std::size_t kStepsAhead = 2;
  // So short a wait is the way from one mark to the next, not one for data.
  static constexpr double kReadyMilliseconds = 0.1;

  StepClock(std::function<Event()> make_event, const Stream& model_stream);

  // The trainer asks for its next batch; calling it again moves the mark.
  void asked();

  // It has one: its stream waits for `filled`. Waits itself only while the host is more than
  // kStepsAhead steps ahead of the device.
  void got(const Event& filled, std::int64_t number);

  ReadinessReading readiness() const;
  DeviceTimeReading device_time() const;  // of the steps

 private:
  struct Step {
    Event asked;
    Event got;
    std::int64_t number = -1;
  };

  Step new_step();
  void count_ended();
  void count(const Step& step, const Event& ended);

  const std::function<Event()> make_event_;
  const Stream stream_;
  DeviceTimeline timeline_;
  std::optional<Step> asking_;
  std::deque<Step> steps_;    // not counted yet, oldest first
  std::vector<Step> unused_;  // whose events are used again

  // Everything below is guarded by mutex_.
  mutable std::mutex mutex_;
  ReadinessReading readiness_;
  DeviceTimeReading device_time_;
};

}  // namespace myxtts
