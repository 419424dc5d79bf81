// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/mman.h>
#include <unistd.h>
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <system_error>

#include <fmt/format.h>

#include "base/error.h"
#include "base/files.h"

namespace myxtts {

// Some bytes of an open file, up to 4,096; fewer than asked for at its end, and zeros beyond. The
// file's position stays where it is.
class FilePiece {
 public:
  FilePiece(int file, std::int64_t at, std::size_t count) {
    const auto wanted = std::min(count, bytes_.size());
    const auto got = ::pread(file, bytes_.data(), wanted, static_cast<off_t>(at));
    size_ = got > 0 ? static_cast<std::size_t>(got) : 0;
  }

  std::size_t size() const { return size_; }
  std::string_view text(std::size_t at, std::size_t count) const {
    return at < size_ ? std::string_view(bytes_.data() + at, std::min(count, size_ - at))
                      : std::string_view();
  }
  std::uint32_t byte(std::size_t at) const {
    return at < size_ ? static_cast<unsigned char>(bytes_[at]) : 0U;
  }
  std::uint32_t little_endian(std::size_t at) const {
    return byte(at) | byte(at + 1) << 8U | byte(at + 2) << 16U | byte(at + 3) << 24U;
  }
  std::uint32_t big_endian(std::size_t at) const {
    return byte(at + 3) | byte(at + 2) << 8U | byte(at + 1) << 16U | byte(at) << 24U;
  }

 private:
  std::array<char, 4096> bytes_;
  std::size_t size_ = 0;
};

// A file in memory, gone when it is closed; the system shows it under `name`. Throws DataError.
inline OpenFile memory_file(const char* name) {
  OpenFile file(::memfd_create(name, MFD_CLOEXEC));
  if (file.get() >= 0) return file;
  throw DataError(
      fmt::format("No memory for sound could be had: {}.", std::generic_category().message(errno)));
}

}  // namespace myxtts
