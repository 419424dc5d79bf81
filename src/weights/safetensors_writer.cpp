// SPDX-License-Identifier: Apache-2.0
#include "weights/safetensors_writer.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "base/checksum.h"
#include "base/error.h"
#include "weights/safetensors_header.h"

namespace myxtts {

SafetensorsWriter::SafetensorsWriter(const std::filesystem::path& path, const TensorKinds& tensors,
                                     const TextMap& metadata)
    : file_(path) {
  for (const auto& [name, kind] : tensors) order_.push_back(name);
  std::ranges::stable_sort(order_, std::ranges::greater(), [&](const std::string& name) {
    return element_bytes(tensors.at(name).dtype);
  });
  SafetensorsHeader header;
  header.metadata = metadata;
  std::uint64_t place = 0;
  for (const std::string& name : order_) {
    const TensorKind& kind = tensors.at(name);
    const auto bytes = dense_bytes(kind.dtype, kind.shape);
    MYXTTS_CHECK(bytes, "the tensor {} has the shape {}", name, describe_shape(kind.shape));
    header.tensors[name] = {kind.dtype, kind.shape, place, place + *bytes};
    sizes_.push_back(static_cast<std::size_t>(*bytes));
    place += *bytes;
  }
  const std::string text = print_safetensors_header(header);
  const auto length = static_cast<std::uint64_t>(text.size());
  file_.write(std::as_bytes(std::span(&length, 1)));
  file_.write(bytes_of(text));
}

void SafetensorsWriter::write(std::span<const std::byte> bytes) {
  MYXTTS_CHECK(written_ < order_.size(), "all {} tensors are written", order_.size());
  MYXTTS_CHECK(bytes.size() <= sizes_[written_] - begun_, "{} has {} bytes, not {}",
               order_[written_], sizes_[written_], begun_ + bytes.size());
  file_.write(bytes);
  begun_ += bytes.size();
  if (begun_ < sizes_[written_]) return;
  ++written_;
  begun_ = 0;
}

void SafetensorsWriter::commit() {
  MYXTTS_CHECK(written_ == order_.size(), "{} of {} tensors are written", written_, order_.size());
  file_.commit();
}

void write_safetensors(const std::filesystem::path& path, const TensorViews& tensors,
                       const TextMap& metadata,
                       const std::function<void(const TensorView&)>& after) {
  TensorKinds kinds;
  for (const auto& [name, view] : tensors) kinds[name] = {view.dtype, view.shape};
  SafetensorsWriter writer(path, kinds, metadata);
  for (const std::string& name : writer.order()) {
    const TensorView& view = tensors.at(name);
    writer.write(view.bytes);
    if (after) after(view);
  }
  writer.commit();
}

}  // namespace myxtts
