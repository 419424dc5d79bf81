// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/error.h"
#include "config/corpus_source.h"
#include "data/layouts/clip_finder.h"
#include "data/layouts/first_lines.h"
#include "data/layouts/folder_manifests.h"
#include "data/layouts/folder_walk.h"
#include "data/layouts/layout.h"
#include "data/layouts/manifest_lines.h"

namespace myxtts {
namespace {

namespace fs = std::filesystem;

std::string names_of_layouts() {
  std::string names;
  for (const auto& [name, layout] : corpus_layouts()) names += (names.empty() ? "" : ", ") + name;
  return names;
}

bool is_folder(const fs::path& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored);
}

bool is_vctk(const fs::path& folder) {
  return is_folder(folder / "txt") &&
         (is_folder(folder / "wav48_silence_trimmed") || is_folder(folder / "wav48"));
}

bool is_common_voice(const fs::path& folder) {
  const auto table = first_file(folder, {"train.tsv", "validated.tsv"});
  return is_folder(folder / "clips") && !table.empty() &&
         is_common_voice_header(first_line_of(table));
}

// Bare names are LJSpeech's: they stand for files of wavs/.
bool names_bare_ids(const fs::path& file) {
  const std::string line = first_line_of(file);
  return line.find('|') != line.npos && split(line, '|')[0].find('/') == std::string_view::npos;
}

// What a tree without a manifest holds, by a look at some of it.
std::optional<CorpusLayout> layout_of_tree(const fs::path& folder) {
  constexpr std::size_t kEnough = 20'000;
  bool has_sound = false;
  bool has_text = false;
  for (const std::string& file : some_files_below(folder, kEnough)) {
    if (file.ends_with(".normalized.txt")) return CorpusLayout::LibriTts;
    has_sound = has_sound || has_audio_extension(file);
    has_text = has_text || file.ends_with(".txt");
  }
  return has_sound && has_text ? std::optional(CorpusLayout::TextFiles) : std::nullopt;
}

std::optional<CorpusLayout> layout_of_folder(const fs::path& folder) {
  if (is_vctk(folder)) return CorpusLayout::Vctk;
  if (is_common_voice(folder)) return CorpusLayout::CommonVoice;
  if (!coqui_manifests(folder).train.empty()) return CorpusLayout::CoquiCsv;
  const auto parts = first_file(folder, {"metadata_train.csv"});
  if (!parts.empty() && names_bare_ids(parts)) return CorpusLayout::Original;
  const auto metadata = first_file(folder, {"metadata.csv"});
  if (!metadata.empty() && names_bare_ids(metadata)) return CorpusLayout::LjSpeech;
  if (!nemo_manifests(folder).train.empty()) return CorpusLayout::NemoJsonl;
  if (!plain_manifests(folder).train.empty()) return CorpusLayout::Plain;
  return layout_of_tree(folder);
}

std::optional<CorpusLayout> layout_of_file(const fs::path& folder, const fs::path& file) {
  const std::string line = first_line_of(file);
  if (is_nemo_line(line)) return CorpusLayout::NemoJsonl;
  if (is_common_voice_header(line)) return CorpusLayout::CommonVoice;
  if (is_coqui_header(line)) return CorpusLayout::CoquiCsv;
  if (line.find('|') == line.npos) return std::nullopt;
  const bool is_metadata = file.filename().string().starts_with("metadata");
  const bool is_ids = names_bare_ids(file) && is_folder(folder / "wavs");
  return is_metadata && is_ids ? CorpusLayout::LjSpeech : CorpusLayout::Plain;
}

}  // namespace

CorpusLayout detect_layout(const LayoutFiles& files) {
  const bool is_file = !files.manifest.empty();
  const auto layout =
      is_file ? layout_of_file(files.folder, files.manifest) : layout_of_folder(files.folder);
  if (layout) return *layout;
  throw DataError(fmt::format(
      "The layout of {} is not known: it is none of {}; give the right one with --format, or write "
      "a file of lines path|text and name that.",
      (is_file ? files.manifest : files.folder).string(), names_of_layouts()));
}

fs::path first_file(const fs::path& folder, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (is_file((folder / name).string())) return folder / name;
  }
  return {};
}

}  // namespace myxtts
