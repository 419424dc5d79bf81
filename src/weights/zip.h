// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/atomic_file.h"

namespace myxtts::zip {

constexpr std::uint32_t kLocalHeader = 0x04034b50;  // what an archive begins with
constexpr std::uint32_t kSeeExtra =
    0xffffffff;  // in a 32-bit field: the value is in the extra field

}  // namespace myxtts::zip

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
  void read_directory();
  void read_zip64_directory(std::size_t end_record);
  void read_entries(std::uint64_t count, std::uint64_t size, std::uint64_t offset);
  std::span<const std::byte> locate(std::string_view name, std::uint64_t header, std::uint64_t size,
                                    std::uint64_t limit) const;
  void refuse_duplicates_and_overlaps();
  [[noreturn]] void fail(const std::string& what) const;

  std::span<const std::byte> archive_;
  std::string subject_;
  std::vector<ZipEntry> entries_;
};

// Writes a zip archive of stored entries, each content at a multiple of 64 bytes, in zip64 where a
// number needs it. `file` outlives the writer and is committed by whoever owns it.
class ZipWriter {
 public:
  // Numbers from `limit` on are written in 64 bits; tests lower it.
  explicit ZipWriter(AtomicFile& file, std::uint64_t limit = zip::kSeeExtra);

  void add(const std::string& name, std::span<const std::byte> bytes);

  // The list of entries; nothing is added afterwards.
  void finish();

 private:
  struct Entry {
    std::string name;
    std::uint32_t checksum = 0;
    std::uint64_t size = 0;
    std::uint64_t header = 0;  // where it begins in the file
  };

  std::string local_header(const Entry& entry) const;
  std::string central_header(const Entry& entry) const;
  std::string end_records(std::uint64_t begin, std::uint64_t end) const;

  AtomicFile& file_;
  std::uint64_t limit_;
  std::vector<Entry> entries_;
};

}  // namespace myxtts
