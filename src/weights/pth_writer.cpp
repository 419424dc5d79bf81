// SPDX-License-Identifier: Apache-2.0
#include "weights/pth.h"

#include <limits>
#include <utility>

#include <fmt/format.h>

#include "base/atomic_file.h"
#include "base/checksum.h"
#include "base/error.h"
#include "weights/zip.h"

namespace myxtts {
namespace {

Shape dense_strides(const Shape& shape) {
  Shape strides(shape.size(), 1);
  for (std::size_t i = shape.size(); i-- > 1;) {
    strides[i - 1] = strides[i] * std::max<std::int64_t>(shape[i], 1);
  }
  return strides;
}

}  // namespace

PthWriter::PthWriter(std::filesystem::path path) : path_(std::move(path)), pickle_("\x80\x02") {}

void PthWriter::open_dict() {
  pickle_ += "}(";
}
void PthWriter::close_dict() {
  pickle_ += 'u';
}
void PthWriter::key(std::string_view text) {
  put_text(text);
}

void PthWriter::dict(const TensorViews& tensors) {
  open_dict();
  for (const auto& [name, view] : tensors) {
    key(name);
    tensor(view);
  }
  close_dict();
}

// _rebuild_tensor_v2(storage, offset, size, stride, requires_grad, OrderedDict())
void PthWriter::tensor(const TensorView& view) {
  const auto count = element_count(view.shape);
  MYXTTS_CHECK(count && *count * element_bytes(view.dtype) == view.bytes.size(),
               "a tensor of shape {} has {} bytes", describe_shape(view.shape), view.bytes.size());
  pickle_ += "ctorch._utils\n_rebuild_tensor_v2\n((";
  put_text("storage");
  pickle_ += fmt::format("ctorch\n{}\n", storage_name(view.dtype));
  put_text(std::to_string(tensors_.size()));
  put_text("cpu");
  put_integer(static_cast<std::int64_t>(*count));
  pickle_ += "tQ";
  put_integer(0);
  put_tuple(view.shape);
  put_tuple(dense_strides(view.shape));
  pickle_ +=
      "\x89"
      "ccollections\nOrderedDict\n)RtR";
  tensors_.push_back(view);
}

void PthWriter::commit(const std::function<void(const TensorView&)>& after) {
  AtomicFile file(path_);
  ZipWriter zip(file, zip64_limit_);
  zip.add("archive/data.pkl", bytes_of(pickle_ + "."));
  zip.add("archive/byteorder", bytes_of("little"));
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    zip.add(fmt::format("archive/data/{}", i), tensors_[i].bytes);
    if (after) after(tensors_[i]);
  }
  zip.add("archive/version", bytes_of("3\n"));
  zip.finish();
  file.commit();
}

void PthWriter::put_text(std::string_view text) {
  const auto size = static_cast<std::uint32_t>(text.size());
  pickle_ += 'X';
  pickle_.append(reinterpret_cast<const char*>(&size), sizeof size);
  pickle_ += text;
}

void PthWriter::put_integer(std::int64_t number) {
  if (number >= 0 && number <= std::numeric_limits<std::int32_t>::max()) {
    const auto small = static_cast<std::int32_t>(number);
    pickle_ += 'J';
    pickle_.append(reinterpret_cast<const char*>(&small), sizeof small);
  } else {
    pickle_ += "\x8a\x08";
    pickle_.append(reinterpret_cast<const char*>(&number), sizeof number);
  }
}

void PthWriter::put_tuple(const Shape& numbers) {
  pickle_ += '(';
  for (const std::int64_t number : numbers) put_integer(number);
  pickle_ += 't';
}

}  // namespace myxtts
