// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/atomic_file.h"
#include "base/files.h"
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

// What a tensor will be, before its bytes are there.
struct TensorKind {
  Dtype dtype = Dtype::F32;
  Shape shape;
};
using TensorKinds = std::map<std::string, TensorKind, std::less<>>;

// Writes a safetensors file tensor by tensor; it appears under its name with commit() alone. Throws
// DataError when the disk refuses.
class SafetensorsWriter {
 public:
  SafetensorsWriter(const std::filesystem::path& path, const TensorKinds& tensors,
                    const TextMap& metadata);

  // The names in the order in which write() wants them: wide elements first, so that every tensor
  // lies aligned, then by name.
  const std::vector<std::string>& order() const { return order_; }

  // The bytes of the next tensor of order(), or a part of them: what is missing comes with the next
  // calls.
  void write(std::span<const std::byte> bytes);

  // Once every tensor is written.
  void commit();

 private:
  AtomicFile file_;
  std::vector<std::string> order_;
  std::vector<std::size_t> sizes_;  // bytes, as order_
  std::size_t written_ = 0;         // whole tensors
  std::size_t begun_ = 0;           // bytes of the next one
};

// All at once. `after` is called for each tensor once it is written, for progress.
void write_safetensors(const std::filesystem::path& path, const TensorViews& tensors,
                       const TextMap& metadata,
                       const std::function<void(const TensorView&)>& after = {});

}  // namespace myxtts
