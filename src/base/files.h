// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <utility>

namespace myxtts {

// The whole file, as it is. `what` names its role in the sentence of a DataError: "The vocabulary
// x.json does not exist. ...". A file above `limit` bytes is refused before it is read.
std::string read_text_file(const std::filesystem::path& path, const std::string& what,
                           std::size_t limit);

// A file's bytes, mapped: opening costs no copy, pages come from the disk when they are first
// touched. The mapping is private, so nothing can be written back to the file through it. Held by
// shared_ptr because tensors made on its bytes keep it alive.
//
// A process that shortens the file while it is mapped takes its pages away; our own writers never
// do, they replace files by renaming.
class MappedFile {
 public:
  // Throws DataError if the file is missing, unreadable or not a regular file.
  static std::shared_ptr<const MappedFile> open(const std::filesystem::path& path);

  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  std::span<const std::byte> bytes() const { return bytes_; }
  const std::filesystem::path& path() const { return path_; }

  // Advises the system that `part` will not be needed again soon, so that a pass over a large file
  // does not count as memory in use. Purely a hint.
  void forget(std::span<const std::byte> part) const;

 private:
  MappedFile(std::filesystem::path path, std::span<const std::byte> bytes);

  std::filesystem::path path_;
  std::span<const std::byte> bytes_;
};

// Copies a file so that changing either later leaves the other as it is. Takes no time and no room
// on disks that share blocks until they are written (Btrfs, XFS). Throws DataError.
void copy_apart(const std::filesystem::path& from, const std::filesystem::path& to);

// The system's place for temporary files: what TMPDIR names, else /tmp. Throws DataError that names
// the variable when there is no such folder.
std::filesystem::path temporary_folder();

// An open file of the operating system, closed at the end of scope; -1 is none.
class OpenFile {
 public:
  explicit OpenFile(int file) : file_(file) {}
  OpenFile(OpenFile&& other) noexcept : file_(other.release()) {}
  OpenFile& operator=(OpenFile&&) = delete;
  ~OpenFile();

  int get() const { return file_; }
  int release() { return std::exchange(file_, -1); }

 private:
  int file_;
};

// A folder of one's own below the system's place for temporary files, gone with everything in it at
// the end of scope.
class ScratchFolder {
 public:
  // Throws DataError when it cannot be made.
  explicit ScratchFolder(const std::string& name);  // "profile": .../myxtts-profile-XXXXXX
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  ~ScratchFolder();

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

}  // namespace myxtts
