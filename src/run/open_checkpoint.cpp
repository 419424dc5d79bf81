// SPDX-License-Identifier: Apache-2.0
#include "run/open_checkpoint.h"

#include "base/error.h"
#include "weights/tensor_files.h"

namespace myxtts {

CheckpointContents open_checkpoint(const Checkpoint& checkpoint, const TrainedPart& part) {
  CheckpointContents contents{
      .state = read_training_state(checkpoint.folder / files::kState),
      .weights = trained_tensors(part, read_tensors(checkpoint.folder / part.file)),
      .optimiser = read_tensors(checkpoint.folder / files::kOptimiser)};
  if (contents.state.step != checkpoint.step) {
    throw DataError(fmt::format("{} is of step {}, but its folder of step {}.",
                                (checkpoint.folder / files::kState).string(), contents.state.step,
                                checkpoint.step));
  }
  return contents;
}

}  // namespace myxtts
