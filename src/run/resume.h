// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "config/stage.h"
#include "run/checkpoint_store.h"
#include "run/run_directory.h"
#include "run/training_state.h"

namespace myxtts {

// Where a run begins: at the checkpoint that --resume names, or nowhere (`resume` is that of
// RunDirectoryConfig). "latest" takes the newest whole one and passes over damaged ones with a
// warning; in a folder where no checkpoint was ever made it begins from the start, so that a run
// that is restarted by a script needs no other command the first time.
//
// Throws DataError when the checkpoint is not there or damaged, when all of them are, and when a
// run without --resume would mix with one that is there; ConfigError when it is one of another
// stage, with what to type.
std::optional<Checkpoint> find_starting_point(const RunDirectory& directory,
                                              const CheckpointStore& store,
                                              const std::optional<std::string>& resume,
                                              Stage stage);

// The state a run goes on with, where the data and settings of its batches are these. If they are
// not those of the checkpoint, that is said, and its epoch begins again with the new ones: its
// place in the old ones means nothing any more.
TrainingState continue_with(TrainingState state, const std::string& corpus,
                            const std::string& batches);

}  // namespace myxtts
