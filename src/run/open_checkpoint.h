// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "run/checkpoint_saver.h"
#include "run/trained_part.h"

namespace myxtts {

// The state and tensors that a run continues from, on the CPU: they share the mapped files. The
// weights are those of the part. Throws DataError that names the file.
CheckpointContents open_checkpoint(const Checkpoint& checkpoint, const TrainedPart& part);

}  // namespace myxtts
