// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/bounded_queue.h"
#include "base/thread_group.h"
#include "pipeline/autotune.h"
#include "pipeline/batcher.h"
#include "pipeline/clip_loader.h"
#include "pipeline/collator.h"
#include "pipeline/pipeline_options.h"
#include "pipeline/pipeline_reading.h"
#include "pipeline/reader.h"
#include "pipeline/staging_pool.h"

namespace myxtts {

// The stages that need no device, and what is between them:
//
//   reader ──clips──▶ clip loader ──buffer──▶ batcher ──settled──▶ collator ──staged──▶ output()
//
// start() and join() are called by the owner's thread; output() is read by one consumer. The source
// outlives it.
class HostStages {
 public:
  HostStages(BatchSource& source, const PipelineOptions& options);
  HostStages(const HostStages&) = delete;
  HostStages& operator=(const HostStages&) = delete;
  ~HostStages();

  // Once. The first batch is that of `position`.
  void start(DataPosition position);

  BoundedQueue<HostBatch>& output() { return staged_; }

  // Wakes everybody, whatever they wait for: they leave after the clip or batch they are at. Any
  // thread; waits for nothing.
  void close();

  // Waits for the threads' end. May be called again.
  void join();

  // Any thread. Readings of the device's side are left empty.
  PipelineReading read() const;

 private:
  void after_batch();
  void apply(const TuneDecision& decision);
  void log_if_bytes_are_the_limit();

  const PipelineOptions options_;
  BatchWindow window_;
  BoundedQueue<LoadJob> jobs_;
  BoundedQueue<LoadedBatch> settled_;
  StagingPool blocks_;
  BoundedQueue<HostBatch> staged_;

  Reader reader_;
  ClipLoader loader_;
  Batcher batcher_;
  Collator collator_;

  std::atomic<std::int64_t> batches_ = 0;
  Autotune autotune_;               // the batcher's thread
  bool bytes_were_logged_ = false;  // the batcher's thread

  ThreadGroup threads_;  // last: they use everything above
};

}  // namespace myxtts
