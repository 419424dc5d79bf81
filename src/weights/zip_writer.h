// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/atomic_file.h"
#include "weights/zip_format.h"

namespace myxtts {

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
