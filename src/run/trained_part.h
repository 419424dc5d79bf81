// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "config/stage.h"
#include "model/named_tensors.h"

namespace myxtts {

// The tensors of a model folder that a stage trains: those of one file whose names begin so. Its
// checkpoints hold them anew and everything else of the model as it was.
struct TrainedPart {
  std::string file;
  std::string prefix = {};  // empty: all of the file
};

TrainedPart trained_part(Stage stage);

// Those of the file's tensors that are trained, or those that are not.
NamedTensors trained_tensors(const TrainedPart& part, const NamedTensors& of_file);
NamedTensors untrained_tensors(const TrainedPart& part, const NamedTensors& of_file);

}  // namespace myxtts
