// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace myxtts {

// Where a piece of speech meets another one, its first or last milliseconds are faded in or out, so
// that no sample jumps there. Shorter than any sound of speech: nothing is lost.

// Samples of a fade: 5 ms.
std::int64_t seam_length(std::int64_t sample_rate);

void fade_in(std::span<float> samples, std::int64_t length);
void fade_out(std::span<float> samples, std::int64_t length);

// The sound of piece `piece` of `count`, or a part of it: fades where it starts and a piece came
// before, and where it ends and another one follows.
struct PieceEnds {
  bool starts = true;
  bool ends = true;
};
void fade_seams(std::span<float> samples, std::size_t piece, std::size_t count,
                std::int64_t sample_rate, PieceEnds here = {});

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
