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
#include <span>
#include <string_view>
#include <utility>

#include <fmt/ranges.h>

#include "audio/ffmpeg.h"
#include "base/error.h"
#include "base/file_remedies.h"
#include "base/files.h"
#include "base/message_text.h"
#include "config/value_text.h"
#include "data/layouts/manifest_builder.h"

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
  return fmt::format("{} cannot be read: {}. {}", path.string(), why,
                     permission_remedy(path, FileUse::Read));
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

// What makes clips with their texts of recordings of any length.
std::string clips_command(const std::string& recordings, fs::path corpus) {
  return fmt::format("myxtts clips {} --whisper WHISPER --out {}", recordings,
                     shell_word((corpus += "-clips").string()));
}

std::string clips_command(const fs::path& recording) {
  fs::path corpus = recording;
  return clips_command(shell_word(recording.string()), corpus.replace_extension());
}

// Those of one folder together, where they end alike.
std::string clips_command(const std::vector<std::string>& recordings) {
  const fs::path first = recordings.front();
  const fs::path folder = first.parent_path();
  const bool is_one_kind = std::ranges::all_of(recordings, [&](const fs::path& each) {
    return each.parent_path() == folder && each.extension() == first.extension();
  });
  if (recordings.size() == 1 || !is_one_kind) return clips_command(first);
  return clips_command(shell_word(folder.string()) + "/*" + first.extension().string(), folder);
}

// `recordings` are sorted.
std::string without_texts(const std::vector<std::string>& recordings, const fs::path& manifest) {
  const auto others = std::ssize(recordings) - 1;
  return fmt::format(
      "{} is a recording without a transcript{}, and training needs the text of every clip. To "
      "have clips cut and written down by a Whisper model, type {} (WHISPER: the folder of that "
      "model); or write a line path|text for each clip of at most 11 seconds into {}.",
      recordings.front(),
      others == 0
          ? ""
          : fmt::format(", and so {} more",
                        others == 1 ? "is one" : fmt::format("are {}", human_count(others))),
      clips_command(recordings), manifest.string());
}

// Of a tree, as far as a look at some of it shows.
std::vector<std::string> some_recordings(const fs::path& folder) {
  constexpr std::size_t kEnough = 20'000;
  std::vector<std::string> files = some_files_below(folder, kEnough);
  std::erase_if(files, [](const std::string& file) { return !has_audio_extension(file); });
  std::ranges::sort(files);
  return files;
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

std::string nothing_written(const fs::path& manifest) {
  return fmt::format("{} is empty; write a line name|text for each recording.", manifest.string());
}

// What stands between the columns of a manifest that knows no bars, by a line whose first column is
// a recording of the folder; the first line may name the columns.
std::string wrong_separator(const fs::path& manifest, const fs::path& folder) {
  constexpr std::pair<char, const char*> kSeparators[] = {
      {',', "commas"}, {';', "semicolons"}, {'\t', "tabs"}};
  constexpr int kLooks = 2;
  const ClipFinder finder(folder, {subfolder(folder, "wavs"), folder, subfolder(folder, "clips")});
  ManifestLines lines(manifest);
  for (int look = 0; look < kLooks && lines.next(); ++look) {
    if (lines.text().find('|') != lines.text().npos) return {};
    if (finder.find(lines.text())) {
      return fmt::format(
          "{}, line {}: \"{}\" is the name of a recording, and its text is missing; write "
          "name|text into every line.",
          manifest.string(), lines.number(), printable(lines.text()));
    }
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

fs::path folder_above(const fs::path& folder) {
  if (folder == "." || folder.filename() == "..") return folder == "." ? ".." : folder / "..";
  return folder.has_parent_path() ? folder.parent_path() : ".";
}

// The corpus that a folder or file lies in, one level below its manifest or two; empty: none.
fs::path corpus_above(fs::path path) {
  constexpr int kLevels = 2;
  for (int level = 0; level < kLevels; ++level) {
    path = folder_above(path);
    if (layout_by_manifest(path)) return path;
  }
  return {};
}

// The sentence for a folder that is some levels above a corpus or below one; empty: it is neither.
std::string other_level(const LayoutFiles& files) {
  if (!files.manifest.empty()) return {};
  constexpr std::size_t kShown = 3;
  const fs::path& folder = files.folder;
  if (const auto corpora = corpora_below(folder); !corpora.empty()) {
    const auto shown = std::span(corpora).first(std::min(kShown, corpora.size()));
    return corpora.size() == 1
               ? fmt::format("{} is no corpus itself: name the one in it, {}.", folder.string(),
                             corpora.front())
               : fmt::format(
                     "{} is no corpus itself: name the ones in it that are meant, such as "
                     "{}.",
                     folder.string(), fmt::join(shown, ", "));
  }
  const fs::path above = corpus_above(folder);
  if (above.empty()) return {};
  return fmt::format("{} is the inside of a corpus: name the folder above it, {}.", folder.string(),
                     above.string());
}

// Where the recordings of the layout lie.
fs::path recordings_of(const LayoutFiles& files, CorpusLayout layout) {
  switch (layout) {
    case CorpusLayout::LjSpeech:
    case CorpusLayout::Original:
      return subfolder(files.folder, "wavs");
    case CorpusLayout::CommonVoice:
      return subfolder(files.folder, "clips");
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

bool has_unknown_sign(const Skipped& skipped) {
  return skipped.reason == SkipReason::TextUnknown;
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
      if (const fs::path corpus = corpus_above(files.manifest); !corpus.empty()) {
        return fmt::format("{} is one recording of a corpus: name the folder of all, {}.",
                           files.manifest.string(), corpus.string());
      }
      return without_texts({files.manifest.string()}, files.folder / "metadata.csv");
    }
  } else if (auto fault = unreadable_manifest(files.folder); !fault.empty()) {
    return fault;
  }
  if (const auto blank = blank_manifest(files); !blank.empty()) {
    return nothing_written(blank);
  }
  if (auto fault = wrong_separator(files); !fault.empty()) return fault;
  std::error_code failed;
  if (files.manifest.empty() && fs::is_empty(files.folder, failed)) {
    return fmt::format(
        "The folder {} is empty; name one with recordings and their texts, such as a metadata.csv "
        "of lines name|text beside a folder wavs.",
        files.folder.string());
  }
  if (auto fault = other_level(files); !fault.empty()) return fault;
  const auto recordings =
      files.manifest.empty() ? some_recordings(files.folder) : std::vector<std::string>();
  if (!recordings.empty()) return without_texts(recordings, files.folder / "metadata.csv");
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
      return nothing_written(blank);
    }
    return fmt::format("The corpus {} (layout {}) names no clips.", corpus.string(),
                       name_of(manifest.layout));
  }
  const bool is_one = skipped.size() == 1;
  const auto count = human_count(static_cast<std::int64_t>(skipped.size()));
  const bool all_missing = std::ranges::all_of(skipped, [](const Skipped& clip) {
    return clip.reason == SkipReason::MissingFile && clip.line > 0;
  });
  if (all_missing) {
    const std::string named = skipped.front().manifest.string();
    const std::string first = one_line(skipped.front().file.string());
    const std::string state = state_of(recordings_of(files, manifest.layout));
    return is_one ? fmt::format("The only recording that {} names was not found, {}: {}", named,
                                first, state)
                  : fmt::format("None of the {} recordings that {} names was found, such as {}: {}",
                                count, named, first, state);
  }
  if (auto fault = wrong_separator(files); !fault.empty()) return fault;
  if (manifest.layout == CorpusLayout::TextFiles) {
    if (auto fault = other_level(files); !fault.empty()) return fault;
  }
  std::map<SkipReason, std::int64_t> counts;
  for (const Skipped& clip : skipped) ++counts[clip.reason];
  const Skipped& first = skipped.front();
  return fmt::format(
      "{} of {} can be used ({}); {} {}{}: {}.",
      is_one ? std::string("Not one clip") : fmt::format("None of the {} clips", count),
      corpus.string(), summary_of(counts), is_one ? "it is" : "the first is",
      one_line(first.file.string()), first.line > 0 ? fmt::format(", line {}", first.line) : "",
      first.measured);
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
        "{} is too long to learn from ({}). Have it cut into clips with their texts ({}), and name "
        "that folder as a corpus, too.",
        clip->file.string(), clip->measured, clips_command(clip->file)));
  }
  if (const auto clip = std::ranges::find_if(skipped, has_unknown_sign); clip != skipped.end()) {
    const auto others = std::ranges::count_if(skipped, has_unknown_sign) - 1;
    remedies.push_back(fmt::format(
        "The text of {}{}: {}{}. Write it in letters that the model knows, or leave the line out.",
        clip->file.string(), clip->line > 0 ? fmt::format(" (line {})", clip->line) : "",
        clip->measured,
        others == 0 ? "" : fmt::format("; so it is with {}", counted(others, "more text"))));
  }
  if (const auto clip = std::ranges::find_if(skipped, wants_ffmpeg); clip != skipped.end()) {
    remedies.push_back(fmt::format("{} is {}.", clip->file.string(), clip->measured));
  }
  return remedies;
}

}  // namespace myxtts
