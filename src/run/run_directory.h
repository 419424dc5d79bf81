// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "config/run_config.h"
#include "run/checkpoint_store.h"
#include "run/training_state.h"

namespace myxtts {

// The folder of one training run (docs/reference/run-directory.md), held by one process at a time.
//
//   RUN/config.yaml  plan.json  log.txt  metrics.jsonl  skipped.jsonl  events.out.tfevents.*
//   RUN/checkpoints/step-NNNNNNN/   RUN/latest   RUN/lock
//
// The lock goes with the process, however that ends.
class RunDirectory {
 public:
  // Makes the folder where it is missing, and takes the lock. Throws DataError when it cannot be
  // written to, or when another process holds it (with that process' number).
  explicit RunDirectory(std::filesystem::path folder);
  RunDirectory(const RunDirectory&) = delete;
  RunDirectory& operator=(const RunDirectory&) = delete;
  ~RunDirectory();

  const std::filesystem::path& path() const { return folder_; }
  std::filesystem::path operator/(const std::string& name) const { return folder_ / name; }

  // Whether a run was here before: it has checkpoints.
  bool has_checkpoints() const;

  // Removes all that is in the folder but the file `kept`, and of the folder and those around it
  // what this start made, where no run was there before and nothing was saved yet: for a
  // run that is refused. False: all stays.
  bool discard_if_new(const std::filesystem::path& kept = {}) const;

 private:
  std::filesystem::path folder_;
  std::filesystem::path made_ = {};  // the outermost folder of the path that was not there
  bool is_new_ = false;              // no run was in the folder
  int lock_ = -1;
};

// The same of a folder that need not be there.
bool holds_checkpoints(const std::filesystem::path& run);

// The record of a run of several parts, in its folder from the first step on.
inline constexpr const char* kChainFile = "chain.json";

// What a folder is that holds no model itself: ", but the folder of a run of several parts ...,
// whose newest model is RUN/latest"; empty: nothing of ours.
std::string what_a_run_is(const std::filesystem::path& folder);

// What keeps a run of this part from beginning in a folder, which need not be there: without
// `resume` one that holds checkpoints, one of several parts, one of another part. Changes nothing
// there. Throws DataError, ConfigError, with what to type.
void check_folder_of_run(const std::filesystem::path& run, const std::optional<std::string>& resume,
                         ModelPart part);

// Where a run begins: at the checkpoint that --resume names, or nowhere (`resume` is that of
// RunDirectoryConfig). "latest" takes the newest whole one and passes over damaged ones with a
// warning; in a folder where no checkpoint was ever made it begins from the start, so that a run
// that is restarted by a script needs no other command the first time.
//
// Throws DataError when the checkpoint is not there or damaged, when all of them are, and when a
// run without --resume would mix with one that is there; ConfigError when it is one of another
// part, with what to type.
std::optional<Checkpoint> find_starting_point(const RunDirectory& directory,
                                              const CheckpointStore& store,
                                              const std::optional<std::string>& resume,
                                              ModelPart part);

// The state a run goes on with, where its data and settings are those of `now`. What is not as it
// was in the checkpoint is said. Other `batches` divide the rest of the epoch, which keeps its
// order; other clips or `rows` make its order another one, so that its place in the old one means
// nothing any more, and the epoch begins again.
TrainingState continue_with(TrainingState state, const TrainingState& now);

}  // namespace myxtts
