// SPDX-License-Identifier: Apache-2.0
#include "run/open_model.h"

#include <ATen/ATen.h>
#include <ATen/core/Tensor.h>

#include "base/error.h"
#include "model/checkpoint_specs.h"
#include "model/gpt.h"
#include "model/network_specs.h"
#include "model/speaker_encoder.h"
#include "model/vocoder.h"
#include "run/model_folder.h"
#include "weights/tensor_files.h"

namespace myxtts {
namespace {

NamedTensors open_tensors(const std::filesystem::path& path, const TensorSpecs& specs) {
  require_tensors(SafetensorsReader(path), specs);
  auto tensors = read_tensors(path);
  for (auto& [name, tensor] : tensors) {
    if (tensor.is_floating_point()) tensor = tensor.to(at::kFloat);
  }
  return tensors;
}

}  // namespace

OpenModel open_model(const std::filesystem::path& folder) {
  const std::string json = read_config_text(folder);
  const std::string subject = (folder / files::kConfig).string();
  OpenModel opened{.config = parse_model_config(json, subject),
                   .reference = parse_reference_config(json, subject),
                   .model = {},
                   .dvae = {}};
  if (!std::filesystem::exists(folder / files::kDvae)) {
    throw DataError(
        fmt::format("{} has no {}, which turns sound into codes; import the model again "
                    "from a folder that holds {}.",
                    folder.string(), files::kDvae, files::kPublicDvae));
  }
  opened.model = open_tensors(folder / files::kModel, checkpoint_specs(opened.config));
  opened.dvae = open_tensors(folder / files::kDvae, dvae_specs(opened.config.dvae));
  return opened;
}

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
