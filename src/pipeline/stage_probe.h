// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>

namespace myxtts {

// Work of the pipeline and of the step that can be told apart.
enum class Work { ListingFiles, ReadingFiles, Decoding, Features, Transfer, Step };

// Looks into stages more closely than their meters do, for a trial: what part of decoding was
// waiting for files. And where a test wants to make some work slow, it is told here. A run has no
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

  void tell(Work work) const {
    if (on_work) on_work(work);
  }
};

}  // namespace myxtts
