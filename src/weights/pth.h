// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/files.h"
#include "weights/dtype.h"
#include "weights/pickle.h"
#include "weights/safetensors.h"
#include "weights/zip.h"

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

// Writes a file that torch.load(weights_only=True) accepts: one tensor, or dicts of tensors by text
// keys, as deep as wanted.
//
//   PthWriter file(path);
//   file.open_dict();
//   file.key("model");  file.dict(tensors);
//   file.key("config"); file.open_dict(); file.close_dict();
//   file.close_dict();
//   file.commit();
//
// Tensors are described as they are given; their bytes are read by commit() and live until then.
class PthWriter {
 public:
  explicit PthWriter(std::filesystem::path path);

  void open_dict();
  void key(std::string_view text);
  void tensor(const TensorView& view);
  void dict(const TensorViews& tensors);
  void close_dict();

  // Writes the file under a temporary name and then gives it its own. `after` is called for each
  // tensor once it is written, for progress. Throws DataError when the disk refuses.
  void commit(const std::function<void(const TensorView&)>& after = {});

  // Numbers of the archive from `limit` on are written in 64 bits; tests lower it.
  void set_zip64_limit(std::uint64_t limit) { zip64_limit_ = limit; }

 private:
  void put_text(std::string_view text);
  void put_integer(std::int64_t number);
  void put_tuple(const Shape& numbers);

  std::filesystem::path path_;
  std::string pickle_;
  std::vector<TensorView> tensors_;  // storage 0, 1, ...
  std::uint64_t zip64_limit_ = zip::kSeeExtra;
};

}  // namespace myxtts
