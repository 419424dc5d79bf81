// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include "base/bounded_queue.h"
#include "base/clock.h"
#include "data/batches/batch_plan.h"
#include "data/cache/feature_cache.h"
#include "data/clip_decoder.h"
#include "pipeline/batch_source.h"
#include "pipeline/pipeline_options.h"

namespace myxtts {

// One clip in plain host memory: its text as ids, and its sound either decoded or, where the cache
// has it, mapped from there.
struct LoadedClip {
  ClipNumber number = 0;
  std::uint32_t repeat = 0;  // PlannedBatch::repeats
  std::vector<std::int64_t> text;
  std::variant<DecodedClip, CachedClip> sound;

  bool is_cached() const { return std::holds_alternative<CachedClip>(sound); }

  std::span<const std::int16_t> samples() const {
    if (const auto* cached = std::get_if<CachedClip>(&sound)) return cached->samples;
    return std::get<DecodedClip>(sound).samples;
  }
};

// A clip that is there, or why it is not.
using ClipResult = std::variant<LoadedClip, Skipped>;

// A batch as the clip loaders leave it: the clips that are there, which may be none.
struct LoadedBatch {
  std::int64_t number = -1;
  PlannedBatch planned = {};
  std::vector<LoadedClip> clips = {};                        // in the order of planned.clips
  std::vector<std::pair<ClipNumber, Skipped>> skipped = {};  // the others, in that order
};

// One clip to be loaded into its place.
struct LoadJob {
  std::int64_t batch = 0;
  std::size_t index = 0;  // in the batch
  ClipNumber clip = 0;
};

// Where decoded clips come together as batches, in order, whatever order they are decoded in.
//
//   reader ──reserve()──▶ [ n: 32 of 32 | n+1: 30 of 32 | n+2: 7 of 32 ] ──take()──▶ batcher
//                              ▲ put()   ▲ put()           ▲ put()
//                              └────── clip loaders ───────┘
//
// Note [Places before work]
// A batch gets its place before any of its clips is given to a clip loader, and places are given in
// order. So whatever a clip loader holds in its hands belongs into a place that is there already:
// put() never waits, the oldest batch can always be completed, and a slow clip delays its own batch
// and stops the reader once the window is full, without a deadlock and without growth. The oldest
// place is given even when it alone exceeds the bytes.
//
// One reader, one batcher, any number of clip loaders. finish(), fail() and stop() are those of
// BoundedQueue: they never wait and wake both sides; a failure goes before everything else.
class BatchWindow {
 public:
  // Holds so many batches, and so many bytes of decoded samples.
  explicit BatchWindow(std::size_t most_batches, std::size_t most_bytes = SIZE_MAX,
                       const Clock& clock = system_clock());

  // Reader. Waits for a place. False: stopped; leave.
  [[nodiscard]] bool reserve(std::int64_t number, const PlannedBatch& planned, std::size_t bytes);

  // Reader. The batch reserved last is the last one.
  void finish();

  // Clip loaders. The clip at `index` of a batch that has a place. False: leave.
  [[nodiscard]] bool put(std::int64_t number, std::size_t index, ClipResult clip);

  // Anybody. Every take() throws `cause` from now on.
  void fail(std::exception_ptr cause);

  // Batcher. Waits until the oldest batch is complete; nothing after the last one or after stop().
  [[nodiscard]] std::optional<LoadedBatch> take();

  // Anybody. Nothing is wanted any more: everyone leaves.
  void stop();

  // Any thread. A smaller limit takes effect as batches leave.
  void set_batches(std::size_t batches);

  std::size_t most_batches() const;
  std::size_t most_bytes() const { return most_bytes_; }
  DepthReading depth() const;           // complete batches
  std::size_t bytes() const;            // reserved now
  std::size_t waits_for_bytes() const;  // places that had to wait for bytes alone

 private:
  struct Entry {
    PlannedBatch planned;
    std::vector<ClipResult> clips;  // in the order of planned.clips
    std::size_t missing = 0;
    std::size_t bytes = 0;
  };

  bool closed() const { return stopped_ || failure_ != nullptr; }
  bool has_place(std::size_t bytes) const;
  void note_depth();
  void drop_entries(std::deque<Entry>& dropped);
  static LoadedBatch loaded(std::int64_t number, Entry entry);

  const std::size_t most_bytes_;

  // Everything below is guarded by mutex_.
  mutable std::mutex mutex_;
  std::condition_variable place_made_;
  std::condition_variable batch_completed_;
  std::size_t most_batches_;
  std::deque<Entry> entries_;  // one for each batch from first_ on
  std::int64_t first_ = 0;
  std::size_t bytes_ = 0;
  std::size_t complete_ = 0;
  std::size_t waits_for_bytes_ = 0;
  DepthMeter meter_;
  bool finished_ = false;
  bool stopped_ = false;
  std::exception_ptr failure_;
};

// Takes complete batches in order and reports their bad clips, whose rows are left out; all others
// of the batch go on. The third stage; runs in a thread of its own.
//
// Everything it is given outlives it.
class Batcher {
 public:
  // `after_batch` is called once for each batch, in the stage's thread.
  Batcher(BatchSource& source, BatchWindow& window, BoundedQueue<LoadedBatch>& output,
          std::function<void()> after_batch);

  // Works until the last batch or until it is stopped. Never throws: a failure goes to whoever
  // takes from the output.
  void run();

  LoadReading load() const { return meter_.read(); }

 private:
  void work();

  BatchSource& source_;
  BatchWindow& window_;
  BoundedQueue<LoadedBatch>& output_;
  const std::function<void()> after_batch_;
  LoadMeter meter_;
};

}  // namespace myxtts
