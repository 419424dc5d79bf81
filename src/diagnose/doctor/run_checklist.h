// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "config/model.h"
#include "config/run_config.h"
#include "device/machine.h"
#include "device/plan/device_plan.h"
#include "diagnose/report/report.h"
#include "model/memory_estimate.h"

namespace myxtts {

// What is known of a run before it starts. A part that could not be had is absent, and its fault
// says why, as a sentence.

struct CorpusFacts {
  std::int64_t training_clips = 0;
  std::int64_t validation_clips = 0;
  std::int64_t left_out = 0;
  double training_hours = 0.0;
  std::int64_t source_bytes = 0;  // of all clips to train on, as 16-bit samples
  std::int64_t batches_per_epoch = 0;
  BatchShape largest_batch = {};
  double useful_share = 1.0;  // of the tokens computed
  std::int64_t speakers = 0;  // to train on
};

struct RunFacts {
  RunConfig config = {};
  Machine machine = {};
  std::optional<DevicePlan> plan = {};
  std::string device_fault = {};
  std::optional<ModelConfig> model = {};
  std::string model_source = {};  // "models/xtts-v2", or the name of a size
  std::string model_fault = {};
  std::optional<CorpusFacts> corpus = {};
  std::string corpus_fault = {};
  DiskInfo disk = {};               // where the run directory is or will be
  std::int64_t held_bytes = 0;      // of its checkpoints, as far as they are there already
  std::int64_t bytes_before = 0;    // that earlier parts of the run will add
  std::int64_t judges = 0;          // parameters that train along and are no part of the model
  std::int64_t steps_done = 0;      // of a run that goes on
  std::string run_fault = {};       // why the run cannot begin in that directory
  std::string judge_fault = {};     // why --judge cannot listen
  std::string settings_fault = {};  // a file that the settings name and that cannot be had
  bool batch_was_typed = false;     // else it may follow the corpus without a word
};

// What the run will add to its disk and leave there.
std::int64_t bytes_to_keep(const RunFacts& facts);

// Whether its checkpoints have room. Needs the model.
Check check_disk(const RunFacts& facts);

// What is wrong with a batch that was asked for and is larger than the `clips` to train on, and the
// remedy; the second is empty where the batch need not have been typed and follows the corpus.
struct BatchCaution {
  std::string finding;
  std::string remedy = {};
};
BatchCaution caution_of_batch(std::int64_t asked, std::int64_t clips, bool was_typed);

// Every check, in order; the run may start where none fails. One that depends on a part that is
// missing is left out.
Checks check_run(const RunFacts& facts);

// The plan's table, a line for each check, and one sentence.
std::string describe(const RunFacts& facts, const Checks& checks);

}  // namespace myxtts
