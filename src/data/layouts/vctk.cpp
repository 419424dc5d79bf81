// SPDX-License-Identifier: Apache-2.0
#include <map>

#include "data/layouts/folder_walk.h"
#include "data/layouts/layout.h"
#include "data/layouts/text_beside.h"

namespace myxtts {
namespace {

// "p225/p225_001" of "CORPUS/txt/p225/p225_001.txt".
std::string name_below(std::string_view file, std::size_t folder) {
  const std::string_view below = file.substr(folder + 1);
  return std::string(below.substr(0, below.rfind('.')));
}

// The first microphone's recording of each utterance, and the second's where there is no first.
std::map<std::string, std::string> recordings_below(const std::filesystem::path& folder) {
  std::map<std::string, std::string> recordings;
  for (const std::string& file : files_below(folder)) {
    if (!has_audio_extension(file)) continue;
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
