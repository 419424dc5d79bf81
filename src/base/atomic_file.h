// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>

namespace myxtts {

// A file that appears whole or not at all, whatever happens to the process or the machine.
//
//   AtomicFile(path) ──write()*──▶ commit()      path now holds everything that was written
//                          └─────▶ ~AtomicFile()  without commit(): path is as it was before
//
// Bytes go to a temporary file in the folder of `path`; commit() brings them to the disk and only
// then gives them the name. A killed process leaves the temporary file (".myxtts-tmp-...") behind
// and nothing else. A file that is replaced keeps its permissions; a symbolic link is followed.
//
// Errors are DataErrors that name the path and what to do. One thread at a time.
class AtomicFile {
 public:
  explicit AtomicFile(const std::filesystem::path& path);
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  ~AtomicFile();

  void write(std::span<const std::byte> bytes);

  // Waits for the disk. Nothing may be written afterwards.
  void commit();

  std::uint64_t size() const { return size_; }  // bytes written so far

 private:
  const std::filesystem::path path_;  // with symbolic links followed
  std::filesystem::path temporary_;
  int file_ = -1;  // open until commit() or the destructor
  std::uint64_t size_ = 0;
};

// An AtomicFile of these bytes, committed.
void write_file_atomically(const std::filesystem::path& path, std::span<const std::byte> bytes);

// So that the names in it are on the disk too, and not only what they stand for. Throws DataError.
void bring_folder_to_disk(const std::filesystem::path& folder);

enum class Output {
  File,         // appears whole at the end, as an AtomicFile does
  GrowingFile,  // is written where it is, or added to; a device or a pipe will do
  Folder,       // is made where it is missing
};

// Tests whether what a flag names can be written, before the work that fills it; leaves nothing
// behind. Throws DataError: "--out x/a.wav cannot be written: the folder x does not exist. Make it
// with mkdir -p 'x'."
void require_output(std::string_view flag, const std::filesystem::path& path, Output kind);

namespace detail {
// Writes everything to an open file; `path` is for the sentence when that fails.
void write_all(int file, std::span<const std::byte> bytes, const std::filesystem::path& path);
}  // namespace detail

}  // namespace myxtts
