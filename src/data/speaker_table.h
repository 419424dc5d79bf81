// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>

#include "data/corpus.h"

namespace myxtts {

// The speakers of a run: those of its training clips from 0, in the order of their names. Equal
// names in different corpora are different speakers, and a corpus without names is one speaker.
// One who is only measured on is the trained one of that name where only these two have it. Any
// thread. The corpus outlives it.
class SpeakerTable {
 public:
  explicit SpeakerTable(const Corpus& corpus);

  std::int64_t size() const { return size_; }  // those who are trained on
  // Of a clip of the corpus; below 0, another one for each: nobody who is trained on.
  std::int64_t number(const ClipView& clip) const;

 private:
  // Note [A speaker's place]
  // An index has each name once. Where a name stands in memory therefore tells the speaker and the
  // corpus.
  using Place = std::pair<const char*, std::size_t>;

  std::int64_t size_ = 0;
  std::map<Place, std::int64_t> numbers_;
};

}  // namespace myxtts
