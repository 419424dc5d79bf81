// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <memory>
#include <string>

#include <CLI/CLI.hpp>

#include "base/atomic_file.h"
#include "base/checksum.h"
#include "base/log.h"
#include "base/progress.h"
#include "cli/command.h"
#include "cli/licence.h"
#include "cli/public_folder.h"
#include "cli/staged_folder.h"
#include "config/model_json.h"
#include "model/checkpoint_specs.h"
#include "model/dvae_specs.h"
#include "run/model_folder.h"
#include "text/vocabulary.h"
#include "weights/safetensors_writer.h"

namespace myxtts {
namespace {

namespace fs = std::filesystem;

struct ImportArguments {
  fs::path from;
  fs::path out;
  LicenceOptions licence;
  bool force = false;
};

// The public config.json with what the vocabulary decides.
std::string config_with_vocabulary(const fs::path& folder) {
  const Vocabulary vocabulary = Vocabulary::load(folder / files::kVocabulary);
  return with_text_ids(
      read_config_text(folder),
      {.count = vocabulary.rows(), .start = vocabulary.start(), .stop = vocabulary.stop()},
      (folder / files::kConfig).string());
}

void write_weights(const PublicFolder& source, const ModelConfig& config,
                   const StagedFolder& target) {
  const std::uint64_t dvae_bytes = source.dvae() != nullptr ? source.dvae()->bytes() : 0;
  Progress progress({.title = "Importing",
                     .total = source.model().bytes() + dvae_bytes,
                     .unit = ProgressOptions::Unit::Bytes});
  source.model().write(target / files::kModel, checkpoint_specs(config), progress);
  if (source.dvae() != nullptr) {
    source.dvae()->write(target / files::kDvae, dvae_specs(config.dvae), progress);
  }
  const TensorViews voices = source.voices();
  if (!voices.empty()) write_safetensors(target / files::kVoices, voices, {{"format", "pt"}});
}

void check_weights(const PublicFolder& source, const ModelConfig& config) {
  require_tensors(source.model().found(), checkpoint_specs(config), source.checkpoint_path());
  if (source.dvae() != nullptr) {
    require_tensors(source.dvae()->found(), dvae_specs(config.dvae), "The DVAE");
  } else {
    log_warning(
        "import",
        "There is no dvae.pth: the model can speak, but neither be trained nor encode clips.");
  }
  source.compare_mel_stats();
}

int run_import(const ImportArguments& arguments) {
  require_other_folder(arguments.from, arguments.out);
  StagedFolder target(arguments.out, arguments.force, files_we_write());
  const PublicFolder source(arguments.from);
  const std::string json = config_with_vocabulary(arguments.from);
  const std::string subject = (arguments.from / files::kConfig).string();
  const ModelConfig config = parse_model_config(json, subject);
  check_weights(source, config);
  const Licence licence = settle_licence(arguments.from, arguments.licence);

  write_weights(source, config, target);
  write_file_atomically(target / files::kConfig, bytes_of(with_licence(json, licence, subject)));
  fs::copy_file(arguments.from / files::kVocabulary, target / files::kVocabulary);
  if (!licence.file.empty()) {
    fs::copy_file(arguments.from / licence.file, target / licence.file);
  }
  target.commit();
  log_info("import", "{} is ready, made from {} ({} layers of width {}, {} text ids).",
           arguments.out.string(), source.checkpoint_path(), config.gpt.layers, config.gpt.width,
           config.gpt.text_ids);
  return 0;
}

}  // namespace

Command import_command() {
  const auto declare = [](CLI::App& app) {
    auto arguments = std::make_shared<ImportArguments>();
    app.add_option("--from", arguments->from,
                   "Folder with model.pth (or a trainer's checkpoint), config.json and vocab.json")
        ->required();
    app.add_option("--out", arguments->out, "The model folder to make")->required();
    app.add_option("--licence", arguments->licence.name, "What the weights' licence is called");
    app.add_flag("--accept-licence", arguments->licence.accepted,
                 "Accept the licence that comes with the weights");
    app.add_flag("--force", arguments->force, "Replace a model folder that exists");
    return [arguments] { return run_import(*arguments); };
  };
  return {.name = "import",
          .group = "Models",
          .summary = "Turns public XTTS weights or a trainer's checkpoint into a model folder",
          .declare = declare,
          .examples = {"myxtts import --from XTTS-v2 --out models/xtts-v2 --accept-licence"}};
}

}  // namespace myxtts
