// SPDX-License-Identifier: Apache-2.0
#include "weights/safetensors.h"

#include <cstdint>
#include <string_view>

#include "base/error.h"
#include "weights/byte_reader.h"
#include "weights/safetensors_header.h"

namespace myxtts {

SafetensorsReader::SafetensorsReader(const std::filesystem::path& path)
    : file_(MappedFile::open(path)) {
  constexpr std::uint64_t kLongestHeader = 100'000'000;  // the format's own limit
  const std::string subject = path.string();
  ByteReader reader(file_->bytes(), subject);
  const auto header_bytes = reader.number<std::uint64_t>();
  if (header_bytes > kLongestHeader) {
    throw DataError(fmt::format("{} claims a header of {} bytes; safetensors allows {}.", subject,
                                header_bytes, kLongestHeader));
  }
  SafetensorsHeader header = parse_safetensors_header(reader.text(header_bytes), subject);
  const auto data = reader.take(reader.remaining());
  check_layout(header, data.size(), subject);
  while (!header.tensors.empty()) {
    auto node = header.tensors.extract(header.tensors.begin());
    SafetensorsHeader::Entry& entry = node.mapped();
    const auto bytes = data.subspan(static_cast<std::size_t>(entry.begin),
                                    static_cast<std::size_t>(entry.end - entry.begin));
    tensors_.emplace_hint(tensors_.end(), std::move(node.key()),
                          TensorView{entry.dtype, std::move(entry.shape), bytes});
  }
  metadata_ = std::move(header.metadata);
}

const TensorView& SafetensorsReader::at(std::string_view name) const {
  const auto found = tensors_.find(name);
  if (found == tensors_.end()) {
    throw DataError(fmt::format("{} holds no tensor '{}'.", file_->path().string(), name));
  }
  return found->second;
}

}  // namespace myxtts
