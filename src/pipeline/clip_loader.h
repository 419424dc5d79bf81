// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "base/bounded_queue.h"
#include "base/clock.h"
#include "pipeline/batch_source.h"
#include "pipeline/batcher.h"

namespace myxtts {

// How many codes stand for so many samples at 22,050 Hz.
inline std::int64_t codes_of(std::int64_t samples, std::int64_t code_stride) {
  return (samples + code_stride - 1) / code_stride;
}

// One clip's text and sound: from the cache where it is there, otherwise decoded. A file that is
// not as long as when the corpus was looked at is left out: its row would not fit into the plan.
ClipResult load_clip(const BatchSource& source, ClipNumber number, std::int64_t code_stride);

// The workers that turn files into samples and text into ids, each clip into the place that was
// reserved for it. The second stage; run() is called by `most_workers` threads, of which the first
// `workers` work and the others stand by.
//
// Everything it is given outlives it.
class ClipLoader {
 public:
  ClipLoader(const BatchSource& source, BoundedQueue<LoadJob>& jobs, BatchWindow& window,
             const PipelineOptions& options);

  // Works until the jobs end or it is stopped. Never throws: a failure goes to whoever takes
  // from the window.
  void run(std::size_t worker);

  // Any thread. How many work from now on; those in the middle of a clip finish it.
  void set_workers(std::size_t workers);
  std::size_t workers() const;
  std::size_t most_workers() const { return meters_.size(); }

  // Anybody. Workers that stand by leave; those at work leave when the jobs do.
  void stop();

  LoadReading load() const;  // of all workers together; `other` is the time they stood by
  std::int64_t clips() const { return clips_; }  // that they loaded
  double cpu_seconds() const;  // of all workers: what they computed, without waiting for a disk

 private:
  bool wait_for_turn(std::size_t worker);
  void work(std::size_t worker);

  const BatchSource& source_;
  BoundedQueue<LoadJob>& jobs_;
  BatchWindow& window_;
  const std::int64_t code_stride_;
  std::vector<std::unique_ptr<LoadMeter>> meters_;  // one for each worker
  std::atomic<std::int64_t> clips_ = 0;
  std::atomic<std::int64_t> cpu_nanoseconds_ = 0;

  // Everything below is guarded by mutex_.
  mutable std::mutex mutex_;
  std::condition_variable turn_came_;
  std::size_t workers_;
  bool stopped_ = false;
};

}  // namespace myxtts
