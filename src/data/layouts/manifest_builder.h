// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "data/layouts/layout.h"
#include "data/layouts/manifest_lines.h"

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

// The endings of audio_endings(), in letters of either case.
bool has_audio_extension(std::string_view name);
std::string_view without_audio_extension(std::string_view name);

// Those of `files`, which are sorted, that are recordings. One that ffmpeg would read is left out
// where libsndfile reads another of the same name: it was converted.
std::vector<std::string> recordings_among(const std::vector<std::string>& files);

bool is_file(const std::string& path);

// Collects the clips of a corpus: finds their audio, gives them ids and sees to it that no id
// comes twice.
class ManifestBuilder {
 public:
  ManifestBuilder(CorpusLayout layout, const std::filesystem::path& root,
                  const std::vector<std::filesystem::path>& audio_folders);

  // A clip whose audio the manifest calls `name`. Of the entry, id and audio are found here.
  void add(std::string_view name, ManifestEntry entry);

  // A clip whose audio is known to be there.
  void add_found(std::string audio, ManifestEntry entry);

  void add_bad_line(const ManifestLines& lines, std::string measured);
  void add_skipped(Skipped skipped) { manifest_.skipped.push_back(std::move(skipped)); }

  // Whether the manifest's first line only names its columns.
  bool is_header(std::string_view first_field, const ManifestLines& lines) const;

  Manifest take() { return std::move(manifest_); }

 private:
  ClipFinder finder_;
  std::unordered_map<std::string, std::size_t> first_of_;  // id to its entry
  Manifest manifest_;
};

}  // namespace myxtts
