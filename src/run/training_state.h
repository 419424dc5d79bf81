// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "data/batches/batch_plan.h"

namespace myxtts {

// What a checkpoint keeps besides tensors: state.json.
struct TrainingState {
  std::int64_t step = 0;                       // updates, skipped ones too
  DataPosition position = {};                  // of the first batch that is not in an update
  EpochStart division = {};                    // where batches began to be made as they are
  std::int64_t division_step = 0;              // updates before that
  std::optional<EpochStart> rest = {};         // what batches made otherwise would go on with from
                                               // here; nothing: not known
  std::int64_t skipped_steps = 0;              // so far, because something was not finite
  std::int64_t bad_steps = 0;                  // the last ones in a row that were bad
  std::uint64_t metrics_position = 0;          // bytes of metrics.jsonl
  double mean_loss = 0;                        // running, for spikes
  std::optional<double> validation_loss = {};  // of this very step; nothing: not measured
  std::optional<double> best_validation_loss = {};
  std::int64_t evaluations_since_best = 0;
  double seconds = 0;       // of training so far, over all resumes
  std::string stage = {};   // as --stage calls it
  std::string corpus = {};  // Corpus::fingerprint()
  std::string rows = {};    // the settings that order and rows of clips follow from, in one line
  std::string batches =
      {};  // those that divide the order into batches; they may change during a run

  // No batch of the epoch at `position` is in an update.
  bool begins_epoch() const {
    return position.step == 0 && (division.epoch != position.epoch || division.visits == 0);
  }

  friend bool operator==(const TrainingState&, const TrainingState&) = default;
};

// Throws DataError that names the file and what is wrong. States of version 2 can be read, too:
// they know no rest unless it is a whole epoch.
void write_training_state(const std::filesystem::path& file, const TrainingState& state);
TrainingState read_training_state(const std::filesystem::path& file);

}  // namespace myxtts
