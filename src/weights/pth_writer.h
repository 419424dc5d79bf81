// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "weights/dtype.h"
#include "weights/safetensors.h"
#include "weights/zip_format.h"

namespace myxtts {

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
