// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/mapped_file.h"
#include "weights/dtype.h"
#include "weights/pickle.h"
#include "weights/zip_reader.h"

namespace myxtts {

// A tensor as a .pth file holds it: a window on a storage, which other tensors may share.
struct PthTensor {
  Dtype dtype = Dtype::F32;
  Shape shape;
  Shape strides;                       // elements
  std::span<const std::byte> storage;  // from the tensor's first element on

  bool is_dense() const;
};

// The tensor's elements in row-major order: a view of the storage where it is dense already,
// otherwise copied into `buffer`.
TensorView dense(const PthTensor& tensor, std::vector<std::byte>& buffer);

// A file that torch.save() wrote (PyTorch 1.6 and later). Executes nothing: see PickleTree. The
// tensors are views of the mapped file and live as long as the reader.
class PthReader {
 public:
  // Maps the file and reads its pickle; no tensor's bytes are touched. Throws DataError.
  explicit PthReader(const std::filesystem::path& path);

  const PickleTree& tree() const { return tree_; }
  const MappedFile& file() const { return *file_; }

  // The texts and values of a dict, in the file's order. Throws DataError if `dict` is not a dict
  // with text for keys, or names something twice.
  std::vector<std::pair<std::string_view, PickleRef>> items(PickleRef dict) const;

  // Throws DataError, naming `name`, if `value` is not a tensor that lies whole in the file.
  PthTensor tensor(PickleRef value, std::string_view name) const;

  // Throws DataError if the storage of a tensor is not what was written. Reads all of it.
  void verify(PickleRef value, std::string_view name) const;

 private:
  struct Storage {
    Dtype dtype;
    const ZipEntry* entry;
  };

  const PickleValue& rebuild_arguments(PickleRef value, std::string_view name) const;
  Storage storage(PickleRef value, std::string_view name) const;
  Shape sizes(PickleRef value, std::string_view name) const;
  [[noreturn]] void fail(const std::string& what) const;

  std::shared_ptr<const MappedFile> file_;
  std::string subject_;
  ZipReader zip_;
  std::string root_;  // "archive/": what every entry's name begins with
  PickleTree tree_;
};

}  // namespace myxtts
