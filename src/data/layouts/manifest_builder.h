// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "data/layouts/clip_finder.h"
#include "data/layouts/layout.h"

namespace myxtts {

// What a line says about a clip besides its audio.
struct ClipWords {
  std::string_view text;
  std::string_view speaker = {};
  std::string_view language = {};
};

// Where in the corpus' files it is said.
struct Place {
  const std::string& file;
  std::int64_t line = 0;
};

// Collects the clips of a corpus: finds their audio, gives them ids and sees to it that no id
// comes twice.
class ManifestBuilder {
 public:
  ManifestBuilder(CorpusLayout layout, const std::filesystem::path& root,
                  const std::vector<std::filesystem::path>& audio_folders);

  // A clip whose audio the manifest calls `name`.
  void add(std::string_view name, const ClipWords& words, const Place& place);

  // A clip whose audio is known to be there.
  void add_found(std::string audio, const ClipWords& words, const Place& place);

  void add_bad_line(const Place& place, std::string measured);
  void add_skipped(Skipped skipped) { manifest_.skipped.push_back(std::move(skipped)); }

  // Whether the manifest's first line only names its columns.
  bool is_header(std::string_view first_field, const Place& place) const;

  Manifest take() { return std::move(manifest_); }

 private:
  ClipFinder finder_;
  std::unordered_map<std::string, std::size_t> first_of_;  // id to its entry
  Manifest manifest_;
};

}  // namespace myxtts
