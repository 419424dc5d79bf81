// SPDX-License-Identifier: Apache-2.0
#include "data/layouts/corpus_faults.h"

#include <fcntl.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "audio/ffmpeg.h"
#include "base/error.h"
#include "base/message_text.h"
#include "config/value_text.h"
#include "data/layouts/manifest_builder.h"
#include "data/layouts/manifest_lines.h"

namespace myxtts {
namespace {

namespace fs = std::filesystem;

std::string names_of_layouts() {
  std::string names;
  for (const auto& [name, layout] : corpus_layouts()) names += (names.empty() ? "" : ", ") + name;
  return names;
}

// Why a file or folder cannot be opened; empty: it can.
std::string refusal(const fs::path& path) {
  const int opened = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (opened < 0) return std::strerror(errno);
  ::close(opened);
  return {};
}

std::string unreadable(const fs::path& path, const std::string& why) {
  return fmt::format("{} cannot be read: {}. Type chmod -R u+rX {} to be allowed to.",
                     path.string(), why, shell_word(path.string()));
}

bool is_manifest_name(const fs::path& path) {
  constexpr std::string_view kEndings[] = {".csv", ".tsv", ".psv", ".list", ".json", ".jsonl"};
  const std::string name = path.filename().string();
  return std::ranges::any_of(kEndings,
                             [&name](std::string_view ending) { return name.ends_with(ending); });
}

// The sentence for a manifest that is there and may not be read; empty where there is none.
std::string unreadable_manifest(const fs::path& folder) {
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator(folder, failed)) {
    if (!is_manifest_name(entry.path())) continue;
    if (const auto why = refusal(entry.path()); !why.empty()) return unreadable(entry.path(), why);
  }
  return {};
}

// Pieces of ten seconds, at the rate that training works with.
std::string cutting_command(const fs::path& recording) {
  fs::path pieces = recording;
  pieces.replace_extension();
  return fmt::format("ffmpeg -i {} -f segment -segment_time 10 -ac 1 -ar 22050 {}",
                     shell_word(recording.string()), shell_word(pieces.string() + "-%03d.wav"));
}

std::string without_texts(const fs::path& recording, const fs::path& manifest) {
  return fmt::format(
      "{} is a recording without a transcript, and training needs the text of every clip. Cut a "
      "long one into clips of at most 11 seconds first ({}), then write a line path|text for each "
      "clip into {}.",
      recording.string(), cutting_command(recording), manifest.string());
}

// Of a tree, as far as a look at some of it shows.
std::vector<std::string> some_recordings(const fs::path& folder) {
  constexpr std::size_t kEnough = 20'000;
  std::vector<std::string> files = some_files_below(folder, kEnough);
  std::erase_if(files, [](const std::string& file) { return !has_audio_extension(file); });
  return files;
}

bool holds_manifest(const fs::path& folder) {
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator(folder, failed)) {
    if (is_manifest_name(entry.path()) && entry.is_regular_file(failed)) return true;
  }
  return false;
}

// What was likely meant where a folder is no corpus: the one around its recordings, or the first in
// it. Empty: there is none.
fs::path corpus_beside(const LayoutFiles& files) {
  if (!files.manifest.empty()) return {};
  const fs::path folder = (files.folder / "").parent_path();  // "anna/wavs/"
  const fs::path name = folder.filename();
  const bool is_of_recordings = name == "wavs" || name == "clips";
  if (is_of_recordings && folder.has_parent_path() && holds_manifest(folder.parent_path())) {
    return folder.parent_path();
  }
  std::vector<fs::path> found;
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator(folder, failed)) {
    if (entry.is_directory(failed) && holds_manifest(entry.path())) found.push_back(entry.path());
  }
  return found.empty() ? fs::path() : *std::ranges::min_element(found);
}

bool is_blank(const fs::path& file) {
  std::ifstream stream(file);
  return stream.is_open() && (stream >> std::ws).eof();
}

// The manifest asked for, or one of the folder, where nothing is written in it; empty: there is
// none.
fs::path blank_manifest(const LayoutFiles& files) {
  if (!files.manifest.empty()) return is_blank(files.manifest) ? files.manifest : fs::path();
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator(files.folder, failed)) {
    if (is_manifest_name(entry.path()) && is_blank(entry.path())) return entry.path();
  }
  return {};
}

std::string nothing_written(const fs::path& manifest, const fs::path& folder) {
  const auto count = static_cast<std::int64_t>(some_recordings(folder).size());
  return fmt::format(
      "{} is empty; write a line name|text for {}.", manifest.string(),
      count < 2 ? "each recording" : fmt::format("each of the {} recordings", human_count(count)));
}

// What stands between the columns of a manifest that knows no bars, by a line whose first column is
// a recording of the folder; the first line may name the columns.
std::string wrong_separator(const fs::path& manifest, const fs::path& folder) {
  constexpr std::pair<char, const char*> kSeparators[] = {
      {',', "commas"}, {';', "semicolons"}, {'\t', "tabs"}};
  constexpr int kLooks = 2;
  const ClipFinder finder(folder, {folder / "wavs", folder, folder / "clips"});
  ManifestLines lines(manifest);
  for (int look = 0; look < kLooks && lines.next(); ++look) {
    if (lines.text().find('|') != lines.text().npos) return {};
    for (const auto& [sign, name] : kSeparators) {
      const auto columns = split_quoted(lines.text(), sign);
      if (columns.size() < 2 || !finder.find(columns[0])) continue;
      return fmt::format(
          "{}, line {}: its columns are separated by {}, and bars must separate them, as in "
          "\"{}|{}\"; change every line.",
          manifest.string(), lines.number(), name, printable(columns[0]), printable(columns[1]));
    }
  }
  return {};
}

// The same of the manifest asked for, or of those in the folder; empty: that is not the fault.
std::string wrong_separator(const LayoutFiles& files) {
  if (!files.manifest.empty()) return wrong_separator(files.manifest, files.folder);
  std::vector<fs::path> manifests;
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator(files.folder, failed)) {
    if (is_manifest_name(entry.path()) && is_file(entry.path().string())) {
      manifests.push_back(entry.path());
    }
  }
  std::ranges::sort(manifests);
  for (const fs::path& manifest : manifests) {
    if (auto fault = wrong_separator(manifest, files.folder); !fault.empty()) return fault;
  }
  return {};
}

// Where the recordings of the layout lie.
fs::path recordings_of(const LayoutFiles& files, CorpusLayout layout) {
  switch (layout) {
    case CorpusLayout::LjSpeech:
    case CorpusLayout::Original:
      return files.folder / "wavs";
    case CorpusLayout::CommonVoice:
      return files.folder / "clips";
    default:
      return files.folder;
  }
}

// What is the matter with a folder in which no recording was found.
std::string state_of(const fs::path& folder) {
  const int opened = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (opened < 0 && errno == ENOENT) return fmt::format("there is no folder {}.", folder.string());
  if (opened < 0) return unreadable(folder, std::strerror(errno));
  ::close(opened);
  if (::access(folder.c_str(), X_OK) != 0) return unreadable(folder, std::strerror(errno));
  std::error_code failed;
  if (fs::is_empty(folder, failed)) return fmt::format("the folder {} is empty.", folder.string());
  return fmt::format("they are not in {}.", folder.string());
}

bool is_too_long(const Skipped& skipped) {
  return skipped.reason == SkipReason::AudioTooLong;
}

bool wants_ffmpeg(const Skipped& skipped) {
  return skipped.measured.find(kInstallFfmpeg) != std::string::npos;
}

}  // namespace

std::string no_layout_found(const LayoutFiles& files) {
  if (!files.manifest.empty()) {
    if (const auto why = refusal(files.manifest); !why.empty()) {
      return unreadable(files.manifest, why);
    }
    if (has_audio_extension(files.manifest.string())) {
      return without_texts(files.manifest, files.folder / "metadata.csv");
    }
  } else if (auto fault = unreadable_manifest(files.folder); !fault.empty()) {
    return fault;
  }
  if (const auto blank = blank_manifest(files); !blank.empty()) {
    return nothing_written(blank, files.folder);
  }
  if (auto fault = wrong_separator(files); !fault.empty()) return fault;
  std::error_code failed;
  if (files.manifest.empty() && fs::is_empty(files.folder, failed)) {
    return fmt::format(
        "The folder {} is empty; name one with recordings and their texts, such as a metadata.csv "
        "of lines name|text beside a folder wavs.",
        files.folder.string());
  }
  if (const fs::path corpus = corpus_beside(files); !corpus.empty()) {
    return fmt::format("{} is no corpus, but {} is one; name that.", files.folder.string(),
                       corpus.string());
  }
  const auto recordings =
      files.manifest.empty() ? some_recordings(files.folder) : std::vector<std::string>();
  if (!recordings.empty()) return without_texts(recordings.front(), files.folder / "metadata.csv");
  return fmt::format(
      "The layout of {} is not known: it is none of {}; give the right one with --format, or write "
      "a file of lines path|text and name that.",
      (files.manifest.empty() ? files.folder : files.manifest).string(), names_of_layouts());
}

std::string no_clip_found(const LayoutFiles& files, const Manifest& manifest) {
  const fs::path corpus = files.manifest.empty() ? files.folder : files.manifest;
  const auto& skipped = manifest.skipped;
  if (skipped.empty()) {
    if (const auto blank = blank_manifest(files); !blank.empty()) {
      return nothing_written(blank, files.folder);
    }
    return fmt::format("The corpus {} (layout {}) names no clips.", corpus.string(),
                       name_of(manifest.layout));
  }
  const auto count = human_count(static_cast<std::int64_t>(skipped.size()));
  const bool all_missing = std::ranges::all_of(skipped, [](const Skipped& clip) {
    return clip.reason == SkipReason::MissingFile && clip.line > 0;
  });
  if (all_missing) {
    return fmt::format("None of the {} recordings that {} names was found, such as {}: {}", count,
                       skipped.front().manifest.string(), one_line(skipped.front().file.string()),
                       state_of(recordings_of(files, manifest.layout)));
  }
  if (auto fault = wrong_separator(files); !fault.empty()) return fault;
  std::map<SkipReason, std::int64_t> counts;
  for (const Skipped& clip : skipped) ++counts[clip.reason];
  const Skipped& first = skipped.front();
  return fmt::format("None of the {} clips of {} can be used ({}); the first is {}{}: {}.", count,
                     corpus.string(), summary_of(counts), one_line(first.file.string()),
                     first.line > 0 ? fmt::format(", line {}", first.line) : "", first.measured);
}

bool shows_recordings(const LayoutFiles& files, CorpusLayout layout) {
  try {
    return !some_recordings(recordings_of(files, layout)).empty();
  } catch (const DataError&) {
    return false;
  }
}

std::vector<std::string> remedies_of(std::span<const Skipped> skipped) {
  std::vector<std::string> remedies;
  if (const auto clip = std::ranges::find_if(skipped, is_too_long); clip != skipped.end()) {
    remedies.push_back(fmt::format(
        "{} is too long to learn from ({}). Cut it ({}), and give each piece the line of its own "
        "words in place of the old one.",
        clip->file.string(), clip->measured, cutting_command(clip->file)));
  }
  if (const auto clip = std::ranges::find_if(skipped, wants_ffmpeg); clip != skipped.end()) {
    remedies.push_back(fmt::format("{} is {}.", clip->file.string(), clip->measured));
  }
  return remedies;
}

}  // namespace myxtts
