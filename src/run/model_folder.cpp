// SPDX-License-Identifier: Apache-2.0
#include "run/model_folder.h"

#include "base/files.h"
#include "config/model_json.h"

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

std::string read_config_text(const std::filesystem::path& folder) {
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
