// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "base/files.h"
#include "weights/safetensors.h"

namespace myxtts {

// A model.bin that CTranslate2's converters wrote (binary version 6), memory-mapped: opening reads
// the names and sizes alone. The views live as long as the file that file() gives, and may lie at
// odd addresses.
//
//   u32 version │ text kind │ u32 revision │ u32 count │ count × tensor │ u32 count │ count × alias
//   text    u16 length with the final 0 │ bytes │ 0
//   tensor  text name │ u8 rank │ rank × u32 │ u8 element type │ u32 bytes │ bytes
//   alias   text name │ text name of the tensor that it is
class Ctranslate2Reader {
 public:
  // Throws DataError for anything but a well-formed file that ends with its last alias.
  explicit Ctranslate2Reader(const std::filesystem::path& path);

  const std::string& kind() const { return kind_; }        // "WhisperSpec"
  const TensorViews& tensors() const { return tensors_; }  // under their aliases too
  const std::shared_ptr<const MappedFile>& file() const { return file_; }

 private:
  std::shared_ptr<const MappedFile> file_;
  std::string kind_;
  TensorViews tensors_;
};

}  // namespace myxtts
