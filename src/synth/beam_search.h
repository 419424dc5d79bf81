// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "config/model.h"
#include "synth/sampling.h"

namespace myxtts {

// A sequence of codes and, for each, the row of the engine that predicted it.
struct Beam {
  float score = 0.0F;
  std::vector<std::int64_t> codes;
  std::vector<std::int64_t> rows;
};

// Beam search over the codes of one text, or beam sampling: the bookkeeping, without a network.
//
//   while (!search.ended()) { search.advance(logits of every row);  feed codes() to rows from() }
//
// Each step takes 2 · beams continuations of all running beams together: the best, or, when
// sampling, drawn without putting back. Those among the first `beams` that end are finished, with
// their score divided by length^length_penalty; the best unfinished run on.
class BeamSearch {
 public:
  BeamSearch(const GptConfig& config, const SamplingSettings& settings, std::int64_t most_codes,
             std::uint32_t text_number);

  // logits [beams, audio ids] of the running beams; changed. Only while not ended().
  void advance(std::span<float> logits);

  bool ended() const { return ended_; }

  // What the running beams are, for the engine: row r goes on from row from()[r] with codes()[r].
  const std::vector<std::int64_t>& from() const { return from_; }
  const std::vector<std::int64_t>& codes() const { return codes_; }

  // The best finished beam. Once ended().
  const Beam& best() const;

 private:
  struct Continuation {
    std::size_t beam = 0;
    std::int64_t code = 0;
    float score = 0.0F;
    bool ends = false;
  };

  std::vector<Continuation> continuations(std::span<float> logits);
  std::vector<std::size_t> draw_without_return(std::span<const float> scores, std::size_t count);
  Beam extended(const Continuation& continuation) const;
  void finish(const std::vector<Continuation>& found);
  void run_on(std::vector<Continuation> found);
  bool can_improve() const;

  GptConfig config_;
  SamplingSettings settings_;
  std::size_t beams_;
  std::int64_t most_codes_;
  std::uint32_t text_number_;
  std::int64_t length_ = 0;  // codes of a running beam
  bool ended_ = false;
  std::vector<Beam> running_;
  std::vector<CodeHistory> histories_;  // of the running beams
  std::vector<Beam> finished_;          // best first, at most `beams_`
  std::vector<std::int64_t> from_;
  std::vector<std::int64_t> codes_;
};

}  // namespace myxtts
