// SPDX-License-Identifier: Apache-2.0
#include "run/model_folder.h"

#include <cstdlib>

#include "base/error.h"
#include "base/files.h"
#include "config/model_json.h"
#include "run/run_directory.h"

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

}  // namespace myxtts
