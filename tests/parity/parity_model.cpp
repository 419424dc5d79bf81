// SPDX-License-Identifier: Apache-2.0
#include "parity/parity_model.h"

#include <fstream>
#include <iterator>
#include <string>

#include <ATen/ATen.h>

#include "base/error.h"
#include "config/model_json.h"
#include "model/gpt.h"
#include "weights/tensor_files.h"

namespace myxtts::test {
namespace {

std::string read_text(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw DataError(fmt::format("{} cannot be opened.", path.string()));
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

}  // namespace

ParityModel read_model(const std::filesystem::path& directory) {
  const auto config_path = directory / "config.json";
  ParityModel model;
  model.config = parse_model_config(read_text(config_path), config_path.string());
  model.weights = read_tensors(directory / "model.safetensors");
  for (auto& [name, tensor] : model.weights) {
    if (!tensor.is_floating_point()) continue;
    tensor = tensor.to(at::kFloat);
    if (name.starts_with(kGptPrefix)) tensor.requires_grad_(true);
  }
  return model;
}

}  // namespace myxtts::test
