// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace myxtts {

// Finds the audio files that a manifest names: below one of several folders, or anywhere by an
// absolute path; with or without extension.
class ClipFinder {
 public:
  // Looks into `folders` in their order. Ids start from `root`.
  ClipFinder(const std::filesystem::path& root, const std::vector<std::filesystem::path>& folders);

  // The path of an existing file.
  std::optional<std::string> find(std::string_view name) const;

  // The path below the root, without the extension of audio; the whole path when the file lies
  // elsewhere.
  std::string id_of(std::string_view audio) const;

 private:
  std::optional<std::string> find_below(std::string_view folder, std::string_view name) const;

  std::string root_;  // ends with a slash, or is empty for the working directory
  std::vector<std::string> folders_;
};

// .wav, .flac, .mp3, .ogg and .opus, in letters of either case.
bool has_audio_extension(std::string_view name);
std::string_view without_audio_extension(std::string_view name);

bool is_file(const std::string& path);

}  // namespace myxtts
