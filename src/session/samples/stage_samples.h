// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "config/run_config.h"
#include "data/corpus.h"
#include "session/samples/sample_maker.h"
#include "session/starting_model.h"

namespace myxtts {

// What the stage of a run is judged by, as --samples and --test-sentences ask for it; null:
// nothing. Throws DataError when the sentences cannot be read. The vocabulary of `start` outlives
// it.
std::unique_ptr<SampleMaker> samples_of_stage(const RunConfig& config, const StartingModel& start,
                                              const Corpus& corpus);

}  // namespace myxtts
