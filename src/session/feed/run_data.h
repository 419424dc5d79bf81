// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "config/run_config.h"
#include "data/batches/batch_plan.h"
#include "data/batches/sound_window.h"
#include "data/cache/feature_cache.h"
#include "data/corpus.h"
#include "device/plan/device_plan.h"
#include "pipeline/corpus_batches.h"
#include "pipeline/feature_stage.h"
#include "run/run_directory.h"
#include "run/training_state.h"
#include "session/starting_model.h"

namespace myxtts {

// What a run's data depend on besides its settings.
struct RunDataOptions {
  StageProbe* probe = nullptr;                // of a trial; outlives the data
  std::optional<TrainingState> resumed = {};  // of the checkpoint that the run goes on from
  std::int64_t rank = 0;
  std::int64_t world_size = 1;
};

// The clips of a run as batches: those to train on, shuffled, and those to measure on, in their
// order. Any thread may read it once it is made. The starting model outlives it.
class RunData {
 public:
  // Opens the corpora, which scans them where that is needed, and the feature cache where
  // --cache-dataset asks for it. Throws DataError, ConfigError.
  RunData(const RunConfig& config, const DevicePlan& plan, const StartingModel& start,
          const std::filesystem::path& run, const RunDataOptions& options = {});
  RunData(const RunData&) = delete;
  RunData& operator=(const RunData&) = delete;
  ~RunData();

  // One way through clips, with what the stages need to know of it.
  struct Part {
    Part(const Corpus& corpus, std::span<const ClipNumber> clips, const GptConfig& gpt,
         const BatchSettings& settings);
    Part(const Corpus& corpus, const GptConfig& gpt, const BatchSettings& settings,
         const EpochStart& start);

    BatchPlan batches;
    RowSizes largest = {};    // of every batch, the largest of each
    WindowPlan windows = {};  // of its batches
    std::unique_ptr<CorpusBatches> source = {};
  };

  const Corpus& corpus() const { return corpus_; }
  const SpeakerTable& speakers() const { return speakers_; }
  const Part& training() const { return *training_; }
  const Part* validation() const { return validation_.get(); }  // null: there are no such clips
  FeatureCache* cache() const { return cache_.get(); }          // null: not asked for

  // What training begins with: the state of the checkpoint, brought to these data and settings.
  const TrainingState& starting_state() const { return state_; }

  // Steps of an epoch, with --grad-accum batches in each and what is left over in the last.
  std::int64_t steps_of_epoch(std::int64_t epoch) const;
  // Steps of the whole run, those before it was resumed included: exact with a clip count, by the
  // first epoch with a token budget.
  std::int64_t steps_of_run() const;
  // By --max-steps and the part's budget; nothing: any number.
  const std::optional<std::int64_t>& most_steps() const { return most_steps_; }
  bool steps_are_exact() const;

 private:
  TrainingState new_state(const StartingModel& start) const;
  TrainingState first_state(const StartingModel& start,
                            const std::optional<TrainingState>& resumed) const;

  const RunConfig& config_;
  const BatchSettings settings_;
  const std::int64_t batches_a_step_;
  const HoldBack hold_back_;
  Corpus corpus_;
  const std::optional<std::int64_t> most_steps_;
  const SpeakerTable speakers_;
  SkipList left_out_;  // of training and validation
  std::unique_ptr<FeatureCache> cache_;
  const TrainingState state_;
  std::unique_ptr<Part> training_;
  std::unique_ptr<Part> validation_;
};

}  // namespace myxtts
