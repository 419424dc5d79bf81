// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "data/batches/batch_settings.h"
#include "data/batches/epoch_start.h"
#include "data/batches/row_lengths.h"
#include "data/batches/visit_group.h"

namespace myxtts {

// The visits of an epoch, or the rest of them, divided into steps of all ranks together.
struct EpochPlan {
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
  EpochPlan divided(std::vector<Visit> visits, const EpochOrder& order) const;
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
