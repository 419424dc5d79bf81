// SPDX-License-Identifier: Apache-2.0
#include "synth/speaking_model.h"

#include <algorithm>

#include <ATen/ATen.h>

#include "base/error.h"
#include "model/checkpoint_specs.h"
#include "model/decoder.h"
#include "model/gpt.h"
#include "model/speaker_encoder.h"
#include "run/model_folder.h"
#include "synth/sampling_json.h"
#include "weights/tensor_files.h"

namespace myxtts {
namespace {

namespace fs = std::filesystem;

bool has_any(const SafetensorsReader& file, const std::string& prefix) {
  return std::ranges::any_of(file.tensors(),
                             [&](const auto& entry) { return entry.first.starts_with(prefix); });
}

void require_stage(const SafetensorsReader& file, const std::string& prefix, const char* part,
                   const char* stage, const fs::path& folder) {
  if (has_any(file, prefix)) return;
  throw DataError(
      fmt::format("{} has no weights of {} ({}…): the stage \"{}\" has not been trained, so the "
                  "model cannot speak yet. Train it with: myxtts train --stage {} --init {} "
                  "--train-data CLIPS",
                  file.file()->path().string(), part, prefix, stage, stage, folder.string()));
}

// A part that is missing altogether is a stage to be trained; anything else is a broken file.
void require_stages(const SafetensorsReader& file, const fs::path& folder) {
  require_stage(file, kGptPrefix, "the GPT, which turns text into codes", "gpt", folder);
  require_stage(file, kDecoderPrefix, "the decoder, which turns codes into sound", "decoder",
                folder);
  if (!has_any(file, kSpeakerEncoderPrefix)) {
    throw DataError(fmt::format(
        "{} has no weights of the speaker encoder ({}…), which tells voices apart: take a whole "
        "model, such as a training makes, or myxtts import --from PUBLIC_MODEL --out DIR",
        file.file()->path().string(), kSpeakerEncoderPrefix));
  }
}

}  // namespace

SpeakingModel open_speaking_model(const fs::path& folder) {
  if (!fs::is_directory(folder)) {
    throw DataError(fmt::format(
        "{} is not a model folder; name one with config.json, vocab.json and model.safetensors, "
        "such as myxtts import makes.",
        folder.string()));
  }
  const std::string json = read_config_text(folder);
  const std::string subject = (folder / files::kConfig).string();
  SpeakingModel model{.folder = folder,
                      .config = parse_model_config(json, subject),
                      .reference = parse_reference_config(json, subject),
                      .sampling = parse_sampling_settings(json, subject),
                      .vocabulary = Vocabulary::load(folder / files::kVocabulary),
                      .tensors = {}};
  {
    const SafetensorsReader file(folder / files::kModel);
    require_stages(file, folder);
    require_tensors(file, checkpoint_specs(model.config));
  }
  model.tensors = read_tensors(folder / files::kModel);
  for (auto& [name, tensor] : model.tensors) {
    if (tensor.is_floating_point()) tensor = tensor.to(at::kFloat);
  }
  if (model.vocabulary.rows() > model.config.gpt.text_ids) {
    throw DataError(fmt::format(
        "{} has {} ids and the model only {}; take the vocabulary that the model was trained with.",
        (folder / files::kVocabulary).string(), model.vocabulary.rows(),
        model.config.gpt.text_ids));
  }
  return model;
}

}  // namespace myxtts
