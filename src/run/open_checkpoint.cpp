// SPDX-License-Identifier: Apache-2.0
#include "run/open_checkpoint.h"

#include "base/error.h"
#include "model/gpt.h"
#include "weights/tensor_files.h"

namespace myxtts {

CheckpointContents open_checkpoint(const Checkpoint& checkpoint) {
  CheckpointContents contents{.state = read_training_state(checkpoint.folder / files::kState),
                              .weights = read_tensors(checkpoint.folder / files::kModel),
                              .optimiser = read_tensors(checkpoint.folder / files::kOptimiser)};
  if (contents.state.step != checkpoint.step) {
    throw DataError(fmt::format("{} is of step {}, but its folder of step {}.",
                                (checkpoint.folder / files::kState).string(), contents.state.step,
                                checkpoint.step));
  }
  std::erase_if(contents.weights,
                [](const auto& named) { return !named.first.starts_with(kGptPrefix); });
  return contents;
}

}  // namespace myxtts
