// SPDX-License-Identifier: Apache-2.0
#include "data/layouts/manifest_builder.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "data/layouts/manifest_lines.h"

namespace myxtts {

ManifestBuilder::ManifestBuilder(CorpusLayout layout, const std::filesystem::path& root,
                                 const std::vector<std::filesystem::path>& audio_folders)
    : finder_(root, audio_folders) {
  manifest_.layout = layout;
}

void ManifestBuilder::add(std::string_view name, const ClipWords& words, const Place& place) {
  const std::string_view wanted = trimmed(name);
  if (wanted.empty()) {
    add_bad_line(place, "no name of an audio file");
    return;
  }
  if (auto audio = finder_.find(wanted)) {
    add_found(std::move(*audio), words, place);
    return;
  }
  add_skipped({.file = std::string(wanted),
               .manifest = place.file,
               .line = place.line,
               .reason = SkipReason::MissingFile,
               .measured = "not on the disk"});
}

void ManifestBuilder::add_found(std::string audio, const ClipWords& words, const Place& place) {
  std::string id = finder_.id_of(audio);
  const auto [first, is_new] = first_of_.try_emplace(id, manifest_.entries.size());
  if (!is_new) {
    const ManifestEntry& earlier = manifest_.entries[first->second];
    const std::string where =
        earlier.line > 0 ? fmt::format("line {}", earlier.line) : earlier.audio;
    add_skipped({.file = std::move(audio),
                 .manifest = place.file,
                 .line = place.line,
                 .reason = SkipReason::DuplicateId,
                 .measured = fmt::format("{} was named by {}", id, where)});
    return;
  }
  manifest_.entries.push_back({.id = std::move(id),
                               .audio = std::move(audio),
                               .text = std::string(trimmed(words.text)),
                               .speaker = std::string(trimmed(words.speaker)),
                               .language = std::string(trimmed(words.language)),
                               .manifest = place.file,
                               .line = place.line});
}

void ManifestBuilder::add_bad_line(const Place& place, std::string measured) {
  add_skipped({.file = place.file,
               .manifest = place.file,
               .line = place.line,
               .reason = SkipReason::BadLine,
               .measured = std::move(measured)});
}

bool ManifestBuilder::is_header(std::string_view first_field, const Place& place) const {
  static constexpr std::array kNames = {"id",         "file",      "file_name",  "filename",
                                        "path",       "wav",       "wav_file",   "audio",
                                        "audio_file", "file_path", "audio_path", "audio_filepath"};
  return place.line == 1 && std::ranges::find(kNames, first_field) != kNames.end() &&
         !finder_.find(first_field);
}

}  // namespace myxtts
