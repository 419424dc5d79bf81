// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace myxtts {

// Writes one of TensorBoard's event files: numbers by name and step, shown as curves.
//
// A file is only ever appended to, record by record, and each record has its own checksums: what a
// killed process leaves behind is readable up to the last whole record. One thread at a time.
class EventFile {
 public:
  // Makes events.out.tfevents.<seconds>.<host>.<process> in `folder`. Throws DataError.
  explicit EventFile(const std::filesystem::path& folder);
  EventFile(const EventFile&) = delete;
  EventFile& operator=(const EventFile&) = delete;
  ~EventFile();

  void add_scalar(std::string_view name, std::int64_t step, double value);

  // Hands everything written so far to the system. Throws DataError when the disk refuses it.
  void flush();

  const std::filesystem::path& path() const { return path_; }

 private:
  void append(const std::string& event);

  std::filesystem::path path_;
  int file_ = -1;
  std::string pending_;  // whole records that were not handed over yet
};

namespace detail {
// CRC-32C (Castagnoli), and TensorFlow's mask over it.
std::uint32_t crc32c(std::string_view bytes);
std::uint32_t masked_crc32c(std::string_view bytes);
}  // namespace detail

}  // namespace myxtts
