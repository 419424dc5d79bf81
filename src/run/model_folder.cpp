// SPDX-License-Identifier: Apache-2.0
#include "run/model_folder.h"

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "base/atomic_file.h"
#include "base/checksum.h"
#include "base/error.h"
#include "base/files.h"
#include "base/interruption.h"
#include "base/progress.h"
#include "config/model_json.h"
#include "model/checkpoint_specs.h"
#include "model/gpt.h"
#include "run/run_directory.h"
#include "run/staged_folder.h"
#include "text/vocabulary.h"
#include "text/vocabulary_learning.h"
#include "weights/safetensors.h"
#include "weights/tensor_files.h"

namespace myxtts {

namespace {

constexpr std::size_t kLargestConfig = 16 << 20;  // bytes of a config.json

}  // namespace

std::set<std::string> files_we_write() {
  return {files::kConfig,
          files::kVocabulary,
          files::kModel,
          files::kDvae,
          files::kVoices,
          files::kPublicModel,
          files::kPublicDvae,
          files::kPublicMelStats,
          files::kPublicVoices,
          "LICENSE.txt",
          "LICENSE",
          "LICENCE.txt",
          "LICENCE",
          "LICENSE.md"};
}

std::filesystem::path models_folder() {
  const std::filesystem::path ours = std::filesystem::path("myxtts") / "models";
  const char* data = std::getenv("XDG_DATA_HOME");
  if (data != nullptr && *data == '/') return data / ours;
  const char* home = std::getenv("HOME");
  return home != nullptr && *home == '/' ? home / (".local/share" / ours) : std::filesystem::path();
}

std::string read_config_text(const std::filesystem::path& folder) {
  if (!std::filesystem::exists(folder / files::kConfig)) {
    if (const std::string run = what_a_run_is(folder); !run.empty()) {
      throw DataError(fmt::format("{} is no model{}.", folder.string(), run));
    }
  }
  return read_text_file(folder / files::kConfig, "model's config", kLargestConfig);
}

void require_tensors(const FoundTensors& found, const TensorSpecs& specs, const std::string& file) {
  require_specs(specs, found, file,
                [](const std::string& field) { return config_json_name(field); });
}

void require_tensors(const SafetensorsReader& file, const TensorSpecs& specs) {
  FoundTensors found;
  for (const auto& [name, view] : file.tensors()) {
    found[name] = {view.shape, is_floating(view.dtype)};
  }
  require_tensors(found, specs, file.file()->path().string());
}

namespace {

namespace fs = std::filesystem;

std::vector<RowSources> growth_plan(const ExtendedVocabulary& extended) {
  std::vector<RowSources> plan;
  for (const NewRow& row : extended.rows) plan.emplace_back(row.from.begin(), row.from.end());
  return plan;
}

// Said on its own, since the list of tensors at fault would blame the weights.
void require_rows_of_vocabulary(const SafetensorsReader& weights, const fs::path& model,
                                std::int64_t rows) {
  const Shape& shape = weights.at("gpt.text_embedding.weight").shape;
  if (!shape.empty() && shape[0] == rows) return;
  throw DataError(fmt::format(
      "{} has ids for {} rows, but gpt.text_embedding.weight in {} is {}; put the vocab.json "
      "beside the weights that they were trained with.",
      (model / files::kVocabulary).string(), rows, weights.file()->path().string(),
      describe_shape(shape)));
}

// Streams the file with `grown` in place of the tensors of these names.
void write_grown_weights(const fs::path& path, const SafetensorsReader& weights,
                         const NamedTensors& grown) {
  TensorViews views = weights.tensors();
  for (const auto& [name, tensor] : grown) {
    views.at(name).shape = tensor.sizes().vec();
    views.at(name).bytes = {static_cast<const std::byte*>(tensor.const_data_ptr()),
                            tensor.nbytes()};
  }
  std::uint64_t total = 0;
  for (const auto& [name, view] : views) total += view.bytes.size();
  Progress progress({.title = "Growing", .total = total, .unit = ProgressOptions::Unit::Bytes});
  write_safetensors(path, views, weights.metadata(), [&](const TensorView& view) {
    progress.advance(view.bytes.size());
    stop_if_interrupted();
  });
}

void copy_if_there(const fs::path& model, const std::string& name, const StagedFolder& target) {
  if (fs::exists(model / name)) fs::copy_file(model / name, target / name);
}

}  // namespace

void write_grown_folder(const fs::path& model, const ExtendedVocabulary& extended,
                        const StagedFolder& target) {
  const std::string subject = (model / files::kConfig).string();
  const std::string old_json = read_config_text(model);
  const Vocabulary vocabulary = Vocabulary::parse(extended.json, files::kVocabulary);
  TextIds ids = {
      .count = extended.old_rows, .start = vocabulary.start(), .stop = vocabulary.stop()};
  const SafetensorsReader weights(model / files::kModel);
  require_rows_of_vocabulary(weights, model, extended.old_rows);
  require_tensors(weights, checkpoint_specs(
                               parse_model_config(with_text_ids(old_json, ids, subject), subject)));

  write_grown_weights(target / files::kModel, weights,
                      grow_vocabulary(read_tensors(model / files::kModel), growth_plan(extended)));
  ids.count = extended.new_rows();
  write_file_atomically(target / files::kConfig, bytes_of(with_text_ids(old_json, ids, subject)));
  write_file_atomically(target / files::kVocabulary, bytes_of(extended.json));
  copy_if_there(model, files::kDvae, target);
  copy_if_there(model, files::kVoices, target);
  const std::string licence = parse_licence(old_json, subject).file;
  if (!licence.empty()) copy_if_there(model, fs::path(licence).filename().string(), target);
}

}  // namespace myxtts
