// SPDX-License-Identifier: Apache-2.0
#include "run/trained_part.h"

#include <ATen/core/Tensor.h>

#include "base/error.h"
#include "model/decoder.h"
#include "model/gpt.h"
#include "model/speaker_encoder.h"
#include "run/model_folder.h"

namespace myxtts {
namespace {

NamedTensors chosen(const TrainedPart& part, const NamedTensors& tensors, bool trained) {
  NamedTensors found;
  for (const auto& [name, tensor] : tensors) {
    if (name.starts_with(part.prefix) == trained) found.emplace(name, tensor);
  }
  return found;
}

}  // namespace

TrainedPart trained_part(Stage stage) {
  switch (stage) {
    case Stage::Gpt:
      return {.file = files::kModel, .prefix = kGptPrefix};
    case Stage::Dvae:
      return {.file = files::kDvae};
    case Stage::Decoder:
      return {.file = files::kModel, .prefix = kDecoderPrefix};
    case Stage::Speaker:
      return {.file = files::kModel, .prefix = kSpeakerEncoderPrefix};
  }
  throw InternalError("a stage without a name");
}

NamedTensors trained_tensors(const TrainedPart& part, const NamedTensors& of_file) {
  return chosen(part, of_file, true);
}

NamedTensors untrained_tensors(const TrainedPart& part, const NamedTensors& of_file) {
  return chosen(part, of_file, false);
}

}  // namespace myxtts
