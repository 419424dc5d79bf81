// SPDX-License-Identifier: Apache-2.0
#include "data/layouts/first_lines.h"

#include "data/layouts/clip_finder.h"
#include "data/layouts/manifest_lines.h"
#include "data/layouts/named_columns.h"

namespace myxtts {

bool is_coqui_header(std::string_view line) {
  const NamedColumns columns(split_quoted(line, '|'));
  return columns.has("audio_file") && columns.has("text");
}

bool is_common_voice_header(std::string_view line) {
  const NamedColumns columns(split_quoted(line, '\t'));
  return columns.has("path") && columns.has("sentence");
}

bool is_nemo_line(std::string_view line) {
  return trimmed(line).starts_with('{') && line.find("\"audio_filepath\"") != line.npos;
}

FolderManifests coqui_manifests(const std::filesystem::path& folder) {
  return manifests_in(folder, {".csv", ".txt", ".psv"}, is_coqui_header);
}

FolderManifests nemo_manifests(const std::filesystem::path& folder) {
  return manifests_in(folder, {".json", ".jsonl"}, is_nemo_line);
}

FolderManifests plain_manifests(const std::filesystem::path& folder) {
  const ClipFinder finder(folder, {folder, folder / "wavs"});
  return manifests_in(folder, {".csv", ".txt", ".psv", ".list"}, [&finder](std::string_view line) {
    return line.find('|') != line.npos && finder.find(split_quoted(line, '|')[0]).has_value();
  });
}

}  // namespace myxtts
