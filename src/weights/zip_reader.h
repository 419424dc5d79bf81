// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace myxtts {

struct ZipEntry {
  std::string_view name;
  std::uint32_t checksum = 0;        // CRC-32 of bytes
  std::span<const std::byte> bytes;  // the content as stored
};

// The entries of a zip archive in memory. Only stored (uncompressed) entries are accepted, so that
// an archive can never describe more than it holds; zip64 is read. Names and contents are views of
// the archive's bytes, which outlive the reader.
class ZipReader {
 public:
  // Throws DataError for anything malformed; `subject` opens every message.
  ZipReader(std::span<const std::byte> archive, std::string subject);

  const std::vector<ZipEntry>& entries() const { return entries_; }  // sorted by name
  const ZipEntry* find(std::string_view name) const;                 // null if there is none

  // Throws DataError if the entry's content is not what was written.
  void verify(const ZipEntry& entry) const;

 private:
  struct Directory {
    std::uint64_t offset = 0;
    std::uint64_t size = 0;
    std::uint64_t count = 0;
  };

  Directory find_directory() const;
  Directory read_zip64_directory(std::size_t end_record) const;
  void read_entries(const Directory& directory);
  std::span<const std::byte> locate(std::string_view name, std::uint64_t header, std::uint64_t size,
                                    std::uint64_t limit) const;
  void refuse_duplicates_and_overlaps();
  [[noreturn]] void fail(const std::string& what) const;

  std::span<const std::byte> archive_;
  std::string subject_;
  std::vector<ZipEntry> entries_;
};

}  // namespace myxtts
