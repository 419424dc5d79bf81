// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "config/model.h"
#include "data/batches/epoch_order.h"
#include "data/corpus.h"
#include "model/gpt_rows.h"

namespace myxtts {

// What batches depend on besides the clips: nothing else, neither threads nor devices nor timing.
struct BatchSettings {
  std::int64_t batch_size = 1;                    // clips on one rank
  std::optional<std::int64_t> batch_tokens = {};  // a budget of tokens in place of a clip count
  std::int64_t most_token_counts = 8;
  std::int64_t least_tokens = 0;  // of every token count, however few the batches have
  bool static_shapes = true;      // pad the total to one of the token counts
  bool shuffle = true;            // false: clips in their order, for validation
  std::uint64_t seed = 0;
  std::int64_t rank = 0;
  std::int64_t world_size = 1;
};

// Which order the visits of an epoch have. With the corpus, the seed and the epoch it says all of
// it, whatever settings it came from.
struct EpochOrder {
  std::int64_t attempt = 0;  // as shuffled() takes it
  std::int64_t dealt = 0;    // to steps of how many visits they were dealt by length; 0: they were
                             // not

  friend bool operator==(const EpochOrder&, const EpochOrder&) = default;
};

// Where batches of some settings begin.
//
// Note [An epoch divided anew]
// How many ranks and clips make a step may change in the middle of an epoch, when a run is resumed.
// The epoch keeps its order then, those settings' own choice or not: the visits that were consumed
// are left out, and the rest is divided into steps of the new size. A step that would be beyond the
// limit of Note [Steps that fit] ends before the clip that is too much, so that the rest may take a
// few steps more. The next epoch is as if the new settings had always been.
struct EpochStart {
  std::int64_t epoch = 0;
  std::int64_t visits = 0;               // of its visits, over all ranks, consumed before
  std::optional<EpochOrder> order = {};  // nothing: as the settings would have it

  friend bool operator==(const EpochStart&, const EpochStart&) = default;
};

// How long the row of each clip is; see Note [Packed rows]. Small, so that a million fit.
class RowLengths {
 public:
  // Throws DataError, naming the clip, when one of `groups` is longer than the model allows.
  RowLengths(const Corpus& corpus, std::span<const VisitGroup> groups, const GptConfig& gpt);

  std::int64_t tokens(ClipNumber clip) const {
    return latents_ + text_targets_[clip] + audio_targets_[clip];
  }
  std::int64_t text_targets(ClipNumber clip) const { return text_targets_[clip]; }
  std::int64_t audio_targets(ClipNumber clip) const { return audio_targets_[clip]; }

  // Of the rows of these visits one after another, without padding. No segments are counted.
  RowSizes total(std::span<const Visit> visits) const;

  std::int64_t longest() const { return longest_; }    // tokens of one row
  std::int64_t shortest() const { return shortest_; }  // 0 without clips

 private:
  std::int64_t latents_;
  std::int64_t longest_ = 0;
  std::int64_t shortest_ = 0;
  std::vector<std::uint16_t> text_targets_;  // by clip; zeros for clips of no group
  std::vector<std::uint16_t> audio_targets_;
};

// The visits of an epoch, or the rest of them, divided into steps of all ranks together.
struct EpochPlan {
  std::int64_t epoch = 0;
  std::vector<Visit> visits;
  std::vector<std::size_t> ends = {};  // one past the last visit of each step
  EpochOrder order = {};               // of the whole epoch
  std::int64_t before = 0;             // visits of the epoch that stand before the first one here

  std::span<const Visit> step(std::int64_t number) const;
  // Of the whole epoch, before a step.
  std::int64_t visits_before(std::int64_t step) const;
};

// Note [Steps that fit]
// Drawing clips at random, a step of B clips could be B times the longest one, and a device would
// have to keep memory for that. So there is a limit on the tokens of a step, a little above the
// largest of several simulated epochs. An order with a step beyond it is drawn again (fewer than
// one epoch in a handful needs it, and about all orders are equally likely as before); after
// kMostDraws of them, visits are dealt to the steps by length, which provably fits.
//
// Everything is a function of what it was made with; any thread may ask.
class EpochPlanner {
 public:
  // Throws ConfigError when a clip does not fit into the token budget, DataError when nothing is
  // left of the epoch it starts in.
  EpochPlanner(std::vector<VisitGroup> groups, RowLengths lengths, const BatchSettings& settings,
               const EpochStart& start = {});

  EpochPlan plan(std::int64_t epoch) const;
  // Whether the epoch is one that other settings began: Note [An epoch divided anew].
  bool is_rest(std::int64_t epoch) const { return start_.order && epoch == start_.epoch; }

  // The visits of a step that are each rank's: dealt by length, so that ranks have about equal
  // work.
  std::vector<std::vector<Visit>> shares(std::span<const Visit> step) const;

  // What plan() does when no random order fits: visits dealt by length.
  EpochPlan dealt(std::int64_t epoch) const;

  // What the batches of one rank never exceed: tokens, targets, and the clips as segments.
  RowSizes bound() const;

  // The totals of all ranks' batches in several epochs.
  const std::vector<RowSizes>& simulated() const { return simulated_; }

  const RowLengths& lengths() const { return lengths_; }
  std::int64_t slots() const { return slots_; }
  std::int64_t visits() const { return visits_; }  // of an epoch

 private:
  void set_slots();
  void simulate();
  std::int64_t provable_limit() const;
  EpochPlan rest() const;
  std::vector<Visit> ordered(std::int64_t epoch, const EpochOrder& order) const;
  std::vector<Visit> dealt_to(std::span<const Visit> visits, std::int64_t clips) const;
  EpochPlan divided(std::int64_t epoch, const EpochOrder& order) const;
  std::vector<std::size_t> ends(std::span<const Visit> visits, std::int64_t most_tokens) const;
  std::int64_t step_clips() const { return slots_ * settings_.world_size; }
  std::int64_t step_budget() const;
  bool fits(const EpochPlan& plan) const;
  std::vector<Visit> by_length(std::span<const Visit> visits) const;
  std::int64_t most_targets(std::int64_t (RowLengths::*targets)(ClipNumber) const) const;

  std::vector<VisitGroup> groups_;
  RowLengths lengths_;
  BatchSettings settings_;
  EpochStart start_;
  std::int64_t visits_ = 0;
  std::int64_t slots_ = 0;
  std::int64_t step_limit_ = 0;  // tokens of all ranks together
  std::vector<RowSizes> simulated_;
};

}  // namespace myxtts
