// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include "base/atomic_file.h"
#include "base/checksum.h"
#include "base/error.h"
#include "base/interruption.h"
#include "base/log.h"
#include "base/progress.h"
#include "cli/command.h"
#include "config/model_json.h"
#include "model/checkpoint_specs.h"
#include "model/network_specs.h"
#include "run/model_folder.h"
#include "run/open_model.h"
#include "run/public_folder.h"
#include "run/staged_folder.h"
#include "weights/pth.h"
#include "weights/safetensors.h"

namespace myxtts {
namespace {

namespace fs = std::filesystem;

struct ExportArguments {
  fs::path model;
  std::string format = "coqui";
  fs::path out;
  bool force = false;
};

// Writes a bare dict, or the wrapped one that model.pth is.
void write_dict(const fs::path& path, const SafetensorsReader& file, bool wrapped,
                Progress& progress) {
  PthWriter writer(path);
  if (wrapped) {
    writer.open_dict();
    writer.key("model");
  }
  writer.dict(file.tensors());
  if (wrapped) {
    writer.key("config");
    writer.open_dict();
    writer.close_dict();
    writer.close_dict();
  }
  writer.commit([&](const TensorView& view) {
    file.file()->forget(view.bytes);
    progress.advance(view.bytes.size());
    stop_if_interrupted();
  });
}

void write_mel_stats(const fs::path& path, const SafetensorsReader& model) {
  PthWriter writer(path);
  writer.tensor(model.at("mel_stats"));
  writer.commit();
}

// "NAME.gpt_cond_latent" and "NAME.speaker_embedding" become a dict of NAME, in that order:
// coqui-tts takes them by their places.
void write_voices(const fs::path& path, const SafetensorsReader& voices) {
  std::map<std::string, TensorViews> by_name;
  for (const auto& [name, view] : voices.tensors()) {
    const std::size_t dot = name.rfind('.');
    if (dot == std::string::npos) {
      throw DataError(fmt::format("{} holds '{}', which is not part of a voice.",
                                  voices.file()->path().string(), name));
    }
    by_name[name.substr(0, dot)][name.substr(dot + 1)] = view;
  }
  PthWriter writer(path);
  writer.open_dict();
  for (const auto& [name, tensors] : by_name) {
    writer.key(name);
    writer.dict(tensors);
  }
  writer.close_dict();
  writer.commit();
}

void write_weights(const fs::path& from, const ModelConfig& config, const StagedFolder& target) {
  const SafetensorsReader model(from / files::kModel);
  require_tensors(model, checkpoint_specs(config));
  std::optional<SafetensorsReader> dvae;
  if (fs::exists(from / files::kDvae)) {
    dvae.emplace(from / files::kDvae);
    require_tensors(*dvae, dvae_specs(config.dvae));
  }
  Progress progress(
      {.title = "Exporting",
       .total = model.file()->bytes().size() + (dvae ? dvae->file()->bytes().size() : 0),
       .unit = ProgressOptions::Unit::Bytes});
  write_dict(target / files::kPublicModel, model, true, progress);
  write_mel_stats(target / files::kPublicMelStats, model);
  if (dvae) write_dict(target / files::kPublicDvae, *dvae, false, progress);
  if (fs::exists(from / files::kVoices)) {
    write_voices(target / files::kPublicVoices, SafetensorsReader(from / files::kVoices));
  }
}

int run_export(const ExportArguments& arguments) {
  if (arguments.format != "coqui") {
    throw ConfigError(fmt::format(
        "--format {} is not written here; coqui is the only layout: leave --format away.",
        arguments.format));
  }
  const Interruption interruption;
  StagedFolder target(arguments.out, arguments.force, files_we_write());
  const fs::path from = find_model("--model", arguments.model);
  require_other_folder(from, arguments.out);
  const std::string json = read_config_text(from);
  const std::string subject = (from / files::kConfig).string();
  const ModelConfig config = parse_model_config(json, subject);
  require_coqui_can_hold(config, from.string());

  write_weights(from, config, target);
  write_file_atomically(target / files::kConfig, bytes_of(public_config(json, subject)));
  fs::copy_file(from / files::kVocabulary, target / files::kVocabulary);
  const Licence licence = parse_licence(json, subject);
  if (!licence.file.empty()) {
    const std::string name = fs::path(licence.file).filename().string();
    fs::copy_file(from / name, target / name);
  }
  target.commit();
  log_info("export", "{} is ready for coqui-tts.", arguments.out.string());
  return 0;
}

}  // namespace

Command export_command() {
  const auto declare = [](CLI::App& app) {
    auto arguments = std::make_shared<ExportArguments>();
    app.add_option("--model", arguments->model, "The model folder")->required()->type_name("DIR");
    app.add_option("--format", arguments->format, "The layout to write: coqui (default)")
        ->type_name("coqui");
    app.add_option("--out", arguments->out, "The folder to make")->required()->type_name("DIR");
    app.add_flag("--force", arguments->force, "Replace an export that exists");
    return [arguments] { return run_export(*arguments); };
  };
  return {.name = "export",
          .group = "Models",
          .summary = "Turns a model folder into files that coqui-tts loads",
          .declare = declare,
          .examples = {"myxtts export --model models/mine --format coqui --out for-python"}};
}

}  // namespace myxtts
