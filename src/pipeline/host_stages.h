// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/bounded_queue.h"
#include "base/thread_group.h"
#include "config/model.h"
#include "pipeline/autotune.h"
#include "pipeline/batcher.h"
#include "pipeline/clip_loader.h"
#include "pipeline/collator.h"
#include "pipeline/pipeline_reading.h"
#include "pipeline/reader.h"
#include "pipeline/staging_pool.h"

namespace myxtts {

struct HostOptions {
  GptConfig gpt = {};
  PromptMask mask = PromptMask::Clip;    // --prompt-mask
  std::int64_t batches_a_step = 1;       // --grad-accum
  WindowPlan windows = {};               // of stages that train on sound
  std::optional<DataPosition> end = {};  // nothing: one epoch after another, for ever
  std::int64_t trainers = 1;  // the ranks that are fed: Note [Batches of several trainers]

  std::size_t workers = 1;         // that decode, at first
  std::size_t most_workers = 1;    // more than `workers`: autotune decides
  WindowLimits buffer = {};        // --buffer-size batches, and their bytes
  bool tune_buffer = false;        // autotune may enlarge it
  std::size_t staging_blocks = 5;  // slots of the ring + 2
  std::size_t reserved_bytes = 0;  // of each block, from the start; 0: as batches need them
  StagingPool::Allocate allocate = plain_memory;
};

// The stages that need no device, and what is between them:
//
//   reader ──clips──▶ decoder ──buffer──▶ batcher ──settled──▶ collator ──staged──▶ output()
//
// start() and stop() are called by the owner's thread; output() is read by one consumer. The source
// outlives it.
class HostStages {
 public:
  HostStages(BatchSource& source, const HostOptions& options);
  HostStages(const HostStages&) = delete;
  HostStages& operator=(const HostStages&) = delete;
  ~HostStages();

  // Once. The first batch is that of `position`.
  void start(DataPosition position);

  BoundedQueue<HostBatch>& output() { return staged_; }

  // Wakes everybody, whatever they wait for: they leave after the clip or batch they are at. Any
  // thread; waits for nothing.
  void close();

  // The same, and waits for the threads' end. May be called again.
  void stop();

  // Any thread. Readings of the device's side are left empty.
  PipelineReading read() const;

 private:
  void after_batch();
  void apply(const TuneDecision& decision);
  void say_if_bytes_are_the_limit();

  const HostOptions options_;
  BatchWindow window_;
  BoundedQueue<ClipJob> jobs_;
  BoundedQueue<SettledBatch> settled_;
  StagingPool blocks_;
  BoundedQueue<HostBatch> staged_;

  Reader reader_;
  ClipDecoding decoder_;
  Batcher batcher_;
  Collator collator_;

  std::atomic<std::int64_t> batches_ = 0;
  Autotune autotune_;             // the batcher's thread
  bool bytes_were_said_ = false;  // the batcher's thread

  ThreadGroup threads_;  // last: they use everything above
};

}  // namespace myxtts
