// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "watch/file_state.h"

namespace myxtts {

// skipped.jsonl or suspicious.jsonl of a run, read when it changed. Of a long one the first 20,000
// clips are kept, and all are counted. One thread at a time.
class ClipList {
 public:
  explicit ClipList(std::filesystem::path file) : file_(std::move(file)) {}

  void look();

  std::int64_t size() const { return size_; }
  std::int64_t damaged() const { return damaged_; }  // lines

  // Some of the clips, for a page; with `reason` those of that reason alone. `sound` opens the
  // address of a clip's sound, which ends with its index; empty: no sounds.
  nlohmann::json json(std::size_t from, std::size_t count, const std::string& reason,
                      const std::string& sound) const;

  // Where the sound of a clip lies; nothing: there is no such clip.
  std::optional<std::filesystem::path> sound_of(std::size_t index) const;

 private:
  struct ListedClip {
    std::string file;
    std::string manifest;
    std::int64_t line = 0;
    std::string reason;
    std::string measured;
    std::string text;
  };

  static std::optional<ListedClip> parse(std::string_view line);

  const std::filesystem::path file_;
  FileState file_state_;
  std::vector<ListedClip> clips_;
  std::map<std::string, std::int64_t> reasons_;
  std::int64_t size_ = 0;
  std::int64_t damaged_ = 0;
};

// The first half minute of a recording as a WAV, whatever it is; nothing: it is no sound. Nothing
// but sound comes out of it, whatever file a list names.
std::optional<std::string> wav_of_file(const std::filesystem::path& file);

// Lines of a log from a byte on (from the end where it is negative): the answer of /api/log.
nlohmann::json log_json(const std::filesystem::path& file, std::int64_t from);

}  // namespace myxtts
