// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace myxtts {

// Turns decodings of ever more latents into pieces of sound to play one after another.
//
//   decoding 1   |===========|~~~|
//   decoding 2   |===============|=======|~~~|       ~~~ the last `overlap` samples, held back
//   pieces       |===========|xxx========|           xxx faded from decoding 1 to decoding 2
//
// The end of a decoding is what later latents still change, so it is held back and faded into the
// next. All pieces together are as long as the last decoding. One thread at a time.
class StreamJoiner {
 public:
  explicit StreamJoiner(std::int64_t overlap) : overlap_(overlap) {}

  // The first sample that the next call of add() wants.
  std::int64_t first_wanted() const { return sent_; }

  // samples: those from first_wanted() on, of a decoding that is at least as long as the one
  // before. Gives the next piece; it may be empty while there are too few new samples to fade into.
  std::vector<float> add(std::span<const float> samples, bool is_last);

 private:
  std::int64_t overlap_;
  std::int64_t sent_ = 0;
  std::vector<float> held_;  // what follows what was sent, as the last decoding had it
};

}  // namespace myxtts
