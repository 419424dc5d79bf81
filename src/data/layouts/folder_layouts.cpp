// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <fstream>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "data/layouts/layout.h"
#include "data/layouts/manifest_builder.h"

namespace myxtts {
namespace {

constexpr std::size_t kLongestTextFile = 65'536;

void add_unpaired(ManifestBuilder& builder, const std::string& file, SkipReason reason,
                  std::string measured) {
  builder.add_skipped({.file = file, .reason = reason, .measured = std::move(measured)});
}

// Adds a clip whose text is the whole of a file, as one line: line ends become blanks.
void add_with_text_file(const std::string& audio, const std::string& text_file,
                        std::string_view speaker, ManifestBuilder& builder) {
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  std::string text(kLongestTextFile + 1, '\0');
  std::ifstream stream(text_file, std::ios::binary);
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(stream.gcount()));
  if (!stream.is_open() || text.size() > kLongestTextFile) {
    const auto reason = stream.is_open() ? SkipReason::TextTooLong : SkipReason::MissingText;
    add_unpaired(
        builder, audio, reason,
        stream.is_open() ? text_file + " is larger than 64 KB" : text_file + " cannot be read");
    return;
  }
  if (text.starts_with(kByteOrderMark)) text.erase(0, kByteOrderMark.size());
  std::ranges::replace_if(
      text, [](char c) { return c == '\n' || c == '\r'; }, ' ');
  builder.add_found(
      audio, {.text = std::move(text), .speaker = std::string(speaker), .manifest = text_file});
}

// Adds a clip for each audio file that has its text in a file of the same path with `text_ending`
// in place of the extension, and says which texts and sounds stand alone. `files` are sorted.
void add_clips_with_text_beside(const std::vector<std::string>& files, std::string_view text_ending,
                                const std::function<std::string(std::string_view stem)>& speaker_of,
                                ManifestBuilder& builder) {
  std::unordered_set<std::string_view> texts;
  for (const std::string& file : files) {
    if (file.ends_with(text_ending)) texts.insert(file);
  }
  std::unordered_set<std::string> used;
  for (const std::string& file : recordings_among(files)) {
    const std::string_view stem = without_audio_extension(file);
    const std::string text_file = std::string(stem).append(text_ending);
    if (!texts.contains(text_file)) {
      add_unpaired(builder, file, SkipReason::MissingText, "no " + text_file);
      continue;
    }
    used.insert(text_file);
    add_with_text_file(file, text_file, speaker_of(stem), builder);
  }
  for (const std::string& file : files) {
    if (file.ends_with(text_ending) && !used.contains(file)) {
      add_unpaired(builder, file, SkipReason::MissingFile, "a text without a sound beside it");
    }
  }
}

}  // namespace

// A folder inside the corpus is a speaker.
Manifest read_text_files(const LayoutFiles& files) {
  ManifestBuilder builder(CorpusLayout::TextFiles, files.folder, {files.folder});
  if (files.part == CorpusPart::Validation) return builder.take();
  const std::size_t root = files.folder.string().size() + 1;
  const auto speaker_of = [root](std::string_view stem) {
    const std::string_view below = stem.substr(std::min(root, stem.size()));
    const std::size_t slash = below.find('/');
    return std::string(slash == below.npos ? std::string_view() : below.substr(0, slash));
  };
  add_clips_with_text_beside(files_below(files.folder), ".txt", speaker_of, builder);
  return builder.take();
}

namespace {

// "84" of ".../84/121123/84_121123_000007_000001".
std::string libritts_speaker(std::string_view stem) {
  const std::string_view name = stem.substr(stem.rfind('/') + 1);
  return std::string(name.substr(0, name.find('_')));
}

}  // namespace

Manifest read_libritts(const LayoutFiles& files) {
  ManifestBuilder builder(CorpusLayout::LibriTts, files.folder, {files.folder});
  if (files.part == CorpusPart::Train) {
    add_clips_with_text_beside(files_below(files.folder), ".normalized.txt", libritts_speaker,
                               builder);
  }
  return builder.take();
}

namespace {

// "p225/p225_001" of "CORPUS/txt/p225/p225_001.txt".
std::string name_below(std::string_view file, std::size_t folder) {
  const std::string_view below = file.substr(folder + 1);
  return std::string(below.substr(0, below.rfind('.')));
}

// The first microphone's recording of each utterance, and the second's where there is no first.
std::map<std::string, std::string> recordings_below(const std::filesystem::path& folder) {
  std::map<std::string, std::string> recordings;
  for (const std::string& file : recordings_among(files_below(folder))) {
    std::string name = name_below(file, folder.string().size());
    for (const char* microphone : {"_mic1", "_mic2"}) {
      if (name.ends_with(microphone)) name.resize(name.size() - 5);
    }
    recordings.try_emplace(name, file);  // sorted: mic1 comes first
  }
  return recordings;
}

std::filesystem::path audio_folder(const std::filesystem::path& folder) {
  const auto trimmed = folder / "wav48_silence_trimmed";
  return std::filesystem::is_directory(trimmed) ? trimmed : folder / "wav48";
}

}  // namespace

Manifest read_vctk(const LayoutFiles& files) {
  ManifestBuilder builder(CorpusLayout::Vctk, files.folder, {files.folder});
  if (files.part == CorpusPart::Validation) return builder.take();
  auto recordings = recordings_below(audio_folder(files.folder));
  const auto text_folder = files.folder / "txt";
  for (const std::string& file : files_below(text_folder)) {
    if (!file.ends_with(".txt")) continue;
    const std::string name = name_below(file, text_folder.string().size());
    const auto recording = recordings.find(name);
    if (recording == recordings.end()) {
      builder.add_skipped({.file = file,
                           .reason = SkipReason::MissingFile,
                           .measured = "a text without a recording"});
      continue;
    }
    add_with_text_file(recording->second, file, name.substr(0, name.find('/')), builder);
    recordings.erase(recording);
  }
  for (const auto& [name, file] : recordings) {
    builder.add_skipped(
        {.file = file, .reason = SkipReason::MissingText, .measured = "no txt/" + name + ".txt"});
  }
  return builder.take();
}

}  // namespace myxtts
