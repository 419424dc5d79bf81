// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/clip.h"
#include "data/skipped.h"

namespace myxtts {

// The files and folders that decide which clips there are, as they were when the index was made.
using Witnesses = std::map<std::string, FileStamp>;

// Everything an index holds.
struct ClipIndexContent {
  std::uint64_t key = 0;  // of all that the rows depend on besides the files
  std::vector<ClipRow> rows;
  std::vector<Skipped> skipped = {};
  Witnesses witnesses = {};
};

// The bytes of an index; docs/internals/batches.md has the format.
std::vector<std::byte> make_clip_index(const ClipIndexContent& content);

// What is known of every clip of one corpus, read from a file that is mapped into memory: nothing
// is copied, so a million clips open in a moment and the system may drop what is not in use.
//
// Only read: any thread may ask. The file is never changed in place (see AtomicFile), so that a map
// stays what it was while another process writes a new index.
class ClipIndex {
 public:
  // Throws DataError, "The index x cannot be used: ...", for a file that is not a whole index of
  // this version.
  static ClipIndex open(const std::filesystem::path& path);

  // An index that never was a file.
  static ClipIndex of(std::vector<std::byte> image);
  static ClipIndex of(const ClipIndexContent& content) { return of(make_clip_index(content)); }

  ClipIndex(ClipIndex&&) noexcept;
  ClipIndex& operator=(ClipIndex&&) noexcept;
  ~ClipIndex();

  std::uint64_t key() const;
  std::size_t size() const;  // clips
  ClipView clip(std::size_t number) const;
  std::string_view id(std::size_t number) const;  // these four cost less than clip()
  std::int64_t samples(std::size_t number) const;
  std::int64_t text_tokens(std::size_t number) const;
  std::pair<std::string_view, FileStamp> file(std::size_t number) const;  // path and stamp

  std::vector<Skipped> skipped() const;
  Witnesses witnesses() const;

 private:
  struct State;
  explicit ClipIndex(std::unique_ptr<State> state);

  std::unique_ptr<State> state_;
};

}  // namespace myxtts
