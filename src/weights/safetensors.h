// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>

#include "base/mapped_file.h"
#include "weights/dtype.h"

namespace myxtts {

using TensorViews = std::map<std::string, TensorView, std::less<>>;
using TextMap = std::map<std::string, std::string, std::less<>>;

// A safetensors file, memory-mapped: opening reads the header alone. The views live as long as the
// file that file() gives.
class SafetensorsReader {
 public:
  // Throws DataError for anything but a well-formed file whose tensors fill it without gap or
  // overlap.
  explicit SafetensorsReader(const std::filesystem::path& path);

  const TensorViews& tensors() const { return tensors_; }
  const TextMap& metadata() const { return metadata_; }
  const std::shared_ptr<const MappedFile>& file() const { return file_; }

  // Throws DataError if there is no such tensor.
  const TensorView& at(std::string_view name) const;

 private:
  std::shared_ptr<const MappedFile> file_;
  TensorViews tensors_;
  TextMap metadata_;
};

}  // namespace myxtts
