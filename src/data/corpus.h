// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "config/data.h"
#include "text/vocabulary.h"

namespace myxtts {

// A kept clip's place in its Corpus, from 0.
using ClipNumber = std::uint32_t;

// What is known of one kept clip. The views are good as long as the corpus.
struct ClipView {
  std::string_view id;
  std::string_view audio;  // path of the file
  std::string_view text;
  std::string_view speaker;
  std::string_view language;
  std::uint64_t identity = 0;  // of path, size and time of change: what caches know the clip by
  std::int64_t source_rate = 0;
  std::int64_t source_frames = 0;  // samples of one channel at source_rate
  std::int64_t samples = 0;        // at 22,050 Hz, resampled
  std::int64_t text_tokens = 0;    // with the language's tag, without [START] and [STOP]
  std::int64_t repeats = 1;        // how often an epoch visits it
};

// The kept clips of all corpora of a run, opened from their indexes; scanned first where an index
// is missing or old. Only read after it was opened: any thread may ask.
class Corpus {
 public:
  // Shows progress. Throws DataError when more is wrong than data.max_skipped allows.
  static Corpus open(const DataConfig& config, const Vocabulary& vocabulary);

  Corpus(Corpus&&) noexcept;
  Corpus& operator=(Corpus&&) noexcept;
  ~Corpus();

  std::size_t size() const;
  ClipView clip(ClipNumber number) const;

  std::span<const ClipNumber> training() const;
  std::span<const ClipNumber> validation() const;

 private:
  struct State;
  explicit Corpus(std::unique_ptr<State> state);

  std::unique_ptr<State> state_;
};

}  // namespace myxtts
