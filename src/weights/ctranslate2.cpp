// SPDX-License-Identifier: Apache-2.0
#include "weights/ctranslate2.h"

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/message_text.h"
#include "weights/byte_reader.h"
#include "weights/dtype.h"

namespace myxtts {
namespace {

constexpr std::uint32_t kBinaryVersion = 6;
constexpr std::uint8_t kMostDimensions = 8;

[[noreturn]] void refuse(const ByteReader& bytes, const std::string& what) {
  throw DataError(fmt::format("{} {}.", bytes.subject(), what));
}

std::string read_name(ByteReader& bytes) {
  const auto length = bytes.number<std::uint16_t>();
  const std::string_view text = bytes.text(length);
  if (text.empty() || text.find('\0') != text.size() - 1) {
    refuse(bytes, fmt::format("has no proper name at byte {}", bytes.position() - length));
  }
  return std::string(text.substr(0, text.size() - 1));
}

std::optional<Dtype> dtype_of_number(std::uint8_t number) {
  constexpr Dtype kTypes[] = {Dtype::F32, Dtype::I8,  Dtype::I16,
                              Dtype::I32, Dtype::F16, Dtype::BF16};
  return number < std::size(kTypes) ? std::optional(kTypes[number]) : std::nullopt;
}

TensorView read_tensor(ByteReader& bytes, const std::string& name) {
  TensorView view;
  const auto rank = bytes.number<std::uint8_t>();
  if (rank > kMostDimensions) {
    refuse(bytes, fmt::format("gives '{}' {} dimensions", printable(name), rank));
  }
  for (std::uint8_t i = 0; i < rank; ++i) view.shape.push_back(bytes.number<std::uint32_t>());
  const auto type = bytes.number<std::uint8_t>();
  const auto dtype = dtype_of_number(type);
  if (!dtype) {
    refuse(bytes,
           fmt::format("stores '{}' as element type {}, which is not read", printable(name), type));
  }
  view.dtype = *dtype;
  const auto size = bytes.number<std::uint32_t>();
  if (dense_bytes(view.dtype, view.shape) != size) {
    refuse(bytes, fmt::format("stores '{}' {} in {} bytes", printable(name),
                              describe_shape(view.shape), size));
  }
  view.bytes = bytes.take(size);
  return view;
}

void add(const ByteReader& bytes, TensorViews& tensors, std::string name, TensorView view) {
  const auto [place, is_new] = tensors.try_emplace(std::move(name), std::move(view));
  if (!is_new) refuse(bytes, fmt::format("names '{}' twice", printable(place->first)));
}

}  // namespace

Ctranslate2Reader::Ctranslate2Reader(const std::filesystem::path& path)
    : file_(MappedFile::open(path)) {
  ByteReader bytes(file_->bytes(), path.string());
  const auto version = bytes.number<std::uint32_t>();
  if (version != kBinaryVersion) {
    refuse(bytes, fmt::format("is no model.bin of CTranslate2 with version {}: it begins with {}",
                              kBinaryVersion, version));
  }
  kind_ = read_name(bytes);
  bytes.number<std::uint32_t>();  // revision of the kind
  for (auto left = bytes.number<std::uint32_t>(); left > 0; --left) {
    std::string name = read_name(bytes);
    TensorView view = read_tensor(bytes, name);
    add(bytes, tensors_, std::move(name), std::move(view));
  }
  for (auto left = bytes.number<std::uint32_t>(); left > 0; --left) {
    std::string alias = read_name(bytes);
    const auto target = tensors_.find(read_name(bytes));
    if (target == tensors_.end()) {
      refuse(bytes, fmt::format("has the alias '{}' of no tensor", printable(alias)));
    }
    add(bytes, tensors_, std::move(alias), TensorView(target->second));
  }
  if (bytes.remaining() > 0) {
    refuse(bytes, fmt::format("goes on for {} bytes behind its end", bytes.remaining()));
  }
}

}  // namespace myxtts
