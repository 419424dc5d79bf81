// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"

namespace myxtts {

static_assert(std::endian::native == std::endian::little, "the file formats are little-endian");

// Reads little-endian numbers and text from bytes of unknown origin. Throws DataError instead of
// reading past the end; what it gives as views lives as long as the bytes.
class ByteReader {
 public:
  // `subject` opens every message, e.g. "model.pth: the pickle".
  ByteReader(std::span<const std::byte> bytes, std::string subject)
      : bytes_(bytes), subject_(std::move(subject)) {}

  std::size_t position() const { return position_; }
  std::size_t remaining() const { return bytes_.size() - position_; }
  const std::string& subject() const { return subject_; }

  template <std::integral Number>
  Number number() {
    Number value;
    std::memcpy(&value, take(sizeof value).data(), sizeof value);
    return value;
  }

  std::span<const std::byte> take(std::uint64_t count) {
    if (count > remaining()) {
      throw DataError(fmt::format("{} ends at byte {} where {} more are needed.", subject_,
                                  bytes_.size(), count - remaining()));
    }
    const auto part = bytes_.subspan(position_, static_cast<std::size_t>(count));
    position_ += part.size();
    return part;
  }

  std::string_view text(std::uint64_t count) {
    const auto part = take(count);
    return {reinterpret_cast<const char*>(part.data()), part.size()};
  }

  // Up to the next line feed, which is read and left out.
  std::string_view line() {
    const std::string_view rest = {reinterpret_cast<const char*>(bytes_.data()) + position_,
                                   remaining()};
    const auto length = rest.find('\n');
    if (length == std::string_view::npos) {
      throw DataError(fmt::format("{} ends in the middle of a line.", subject_));
    }
    position_ += length + 1;
    return rest.substr(0, length);
  }

 private:
  std::span<const std::byte> bytes_;
  std::string subject_;
  std::size_t position_ = 0;
};

}  // namespace myxtts
