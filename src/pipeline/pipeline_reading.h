// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"

namespace myxtts {

// Where the threads of one stage spent their time.
struct StageReading {
  std::string name;
  std::size_t workers = 1;  // at work now
  LoadReading load = {};    // of all of them together
  std::int64_t clips = 0;   // of the stages that work clip by clip: how many they did
  double cpu_seconds = 0;   // of the decoders: the part of their busy time that they computed
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

  std::atomic<std::int64_t> file_nanoseconds = 0;  // of decoders, reading files

  void report(Work work) const {
    if (on_work) on_work(work);
  }
};

}  // namespace myxtts
