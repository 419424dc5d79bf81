// SPDX-License-Identifier: Apache-2.0
#include "train/starting_point.h"

#include "base/error.h"
#include "base/message_text.h"
#include "config/resumed_run.h"
#include "model/checkpoint_specs.h"
#include "model/named_tensors.h"
#include "model/network_specs.h"
#include "model/speaker_encoder.h"
#include "run/model_folder.h"

namespace myxtts {
namespace {

namespace fs = std::filesystem;

GptConfig with_ids(GptConfig config, const TextIds& ids) {
  config.text_ids = ids.count;
  config.start_text = ids.start;
  config.stop_text = ids.stop;
  return config;
}

std::string described(const GptConfig& config) {
  const auto name = size_name(config);
  return fmt::format("{}{} layers of width {}", name ? *name + ", " : "", config.layers,
                     config.width);
}

void check_vocabulary(const fs::path& folder, const GptConfig& config, const TextIds& ids) {
  const std::string vocabulary = (folder / files::kVocabulary).string();
  if (ids.count > config.text_ids) {
    throw DataError(fmt::format(
        "{} has {} ids but the model in {} only {} rows for them; put the model's own vocab.json "
        "back, and let both grow (myxtts vocab extend --model {} --language CODE --text "
        "sentences.txt --out {}).",
        vocabulary, ids.count, folder.string(), config.text_ids, shell_word(folder.string()),
        shell_word(name_beside(folder, "-grown").string())));
  }
  if (ids.start != config.start_text || ids.stop != config.stop_text) {
    throw DataError(fmt::format(
        "{} has [START] {} and [STOP] {} but the model in {} was made for {} and {}; use the "
        "vocabulary that it was trained with.",
        vocabulary, ids.start, ids.stop, folder.string(), config.start_text, config.stop_text));
  }
}

void check_size(const fs::path& folder, const GptConfig& config, const std::string& asked) {
  const TextIds ids{.count = config.text_ids, .start = config.start_text, .stop = config.stop_text};
  if (with_ids(model_preset(asked).gpt, ids) == config) return;
  throw ConfigError(
      fmt::format("--model-size {} was asked for but the model of --init {} is another size ({}); "
                  "leave --model-size out, since a model brings its own.",
                  asked, folder.string(), described(config)));
}

}  // namespace

ModelConfig new_model_config(std::string_view size, const TextIds& vocabulary) {
  ModelConfig config = model_preset(size);
  config.gpt = with_ids(config.gpt, vocabulary);
  validate(config);
  return config;
}

OpenModel new_model(const ModelConfig& config, std::uint64_t seed) {
  OpenModel model{.config = config,
                  .reference = {},
                  .model = initialise(checkpoint_specs(config), seed),
                  .dvae = initialise(dvae_specs(config.dvae), seed)};
  for (const auto& [name, table] : speaker_encoder_tables(config.speaker_encoder)) {
    model.model.emplace(kSpeakerEncoderPrefix + name, table);
  }
  return model;
}

void require_fitting(const fs::path& folder, const GptConfig& config, const TextIds& vocabulary,
                     const std::optional<std::string>& asked_size) {
  if (asked_size) check_size(folder, config, *asked_size);
  check_vocabulary(folder, config, vocabulary);
}

OpenModel model_to_train(const fs::path& folder, const TextIds& vocabulary,
                         const std::optional<std::string>& asked_size) {
  OpenModel model = open_model(folder);
  require_fitting(folder, model.config.gpt, vocabulary, asked_size);
  require_finite(model, folder);
  return model;
}

std::optional<std::string> size_name(const GptConfig& config) {
  const TextIds ids{.count = config.text_ids, .start = config.start_text, .stop = config.stop_text};
  for (const std::string_view name : model_preset_names()) {
    if (with_ids(model_preset(name).gpt, ids) == config) return std::string(name);
  }
  return std::nullopt;
}

}  // namespace myxtts
