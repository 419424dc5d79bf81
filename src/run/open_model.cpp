// SPDX-License-Identifier: Apache-2.0
#include "run/open_model.h"

#include <ATen/ATen.h>
#include <ATen/core/Tensor.h>

#include "base/error.h"
#include "model/checkpoint_specs.h"
#include "model/network_specs.h"
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

NamedTensors chosen(const PartFacts& stage, const NamedTensors& tensors, bool trained) {
  NamedTensors found;
  for (const auto& [name, tensor] : tensors) {
    if (name.starts_with(stage.prefix) == trained) found.emplace(name, tensor);
  }
  return found;
}

}  // namespace

NamedTensors trained_tensors(const PartFacts& stage, const NamedTensors& of_file) {
  return chosen(stage, of_file, true);
}

NamedTensors untrained_tensors(const PartFacts& stage, const NamedTensors& of_file) {
  return chosen(stage, of_file, false);
}

CheckpointContents open_checkpoint(const Checkpoint& checkpoint, const PartFacts& stage) {
  CheckpointContents contents{
      .state = read_training_state(checkpoint.folder / files::kState),
      .weights = trained_tensors(stage, read_tensors(checkpoint.folder / stage.file)),
      .optimiser = read_tensors(checkpoint.folder / files::kOptimiser)};
  if (contents.state.step != checkpoint.step) {
    throw DataError(fmt::format("{} is of step {}, but its folder of step {}.",
                                (checkpoint.folder / files::kState).string(), contents.state.step,
                                checkpoint.step));
  }
  return contents;
}

}  // namespace myxtts
