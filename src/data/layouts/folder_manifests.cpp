// SPDX-License-Identifier: Apache-2.0
#include "data/layouts/folder_manifests.h"

#include <algorithm>
#include <fstream>
#include <vector>

#include "base/error.h"

namespace myxtts {
namespace {

// "train" in "train", "metadata_train" and "train-clean"; not in "trainer".
bool has_word(const std::string& stem, std::initializer_list<std::string_view> words) {
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  for (auto at = stem.begin(); at != stem.end();) {
    at = std::find_if(at, stem.end(), is_letter);
    const auto end = std::find_if_not(at, stem.end(), is_letter);
    if (std::ranges::find(words, std::string_view(at, end)) != words.end()) return true;
    at = end;
  }
  return false;
}

std::vector<std::filesystem::path> fitting_files(
    const std::filesystem::path& folder, std::initializer_list<std::string_view> endings,
    const std::function<bool(std::string_view)>& fits) {
  std::vector<std::filesystem::path> files;
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator(folder, failed)) {
    const std::string name = entry.path().filename().string();
    const auto is_ending = [&name](std::string_view ending) { return name.ends_with(ending); };
    if (name.starts_with('.') || std::ranges::none_of(endings, is_ending)) continue;
    std::error_code ignored;
    if (!entry.is_regular_file(ignored)) continue;
    if (fits(first_line_of(entry.path()))) files.push_back(entry.path());
  }
  std::ranges::sort(files);
  return files;
}

}  // namespace

FolderManifests manifests_in(const std::filesystem::path& folder,
                             std::initializer_list<std::string_view> endings,
                             const std::function<bool(std::string_view)>& fits) {
  FolderManifests found;
  std::vector<std::filesystem::path> training;
  for (const auto& file : fitting_files(folder, endings, fits)) {
    const std::string stem = file.stem().string();
    if (has_word(stem, {"val", "valid", "validation", "dev", "eval"})) {
      if (found.validation.empty()) found.validation = file;
    } else if (!has_word(stem, {"test"})) {
      training.push_back(file);
    }
  }
  const auto is_named_train = [](const auto& file) {
    return has_word(file.stem().string(), {"train"});
  };
  const auto named = std::ranges::find_if(training, is_named_train);
  if (named != training.end()) {
    found.train = *named;
  } else if (!training.empty()) {
    found.train = training.front();
    found.is_ambiguous = training.size() > 1;
  }
  return found;
}

std::filesystem::path manifest_of_part(
    const LayoutFiles& files,
    const std::function<FolderManifests(const std::filesystem::path& folder)>& look) {
  const bool validation = files.part == CorpusPart::Validation;
  if (!files.manifest.empty()) return validation ? std::filesystem::path() : files.manifest;
  const FolderManifests found = look(files.folder);
  if (validation) return found.validation;
  if (found.train.empty()) {
    throw DataError(fmt::format(
        "The folder {} holds no manifest of the layout asked for; name the file itself.",
        files.folder.string()));
  }
  if (found.is_ambiguous) {
    throw DataError(
        fmt::format("The folder {} holds several manifests, {} among them; name the one to read.",
                    files.folder.string(), found.train.filename().string()));
  }
  return found.train;
}

std::string first_line_of(const std::filesystem::path& file) {
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  constexpr std::size_t kMostBytes = 65'536;
  std::ifstream stream(file, std::ios::binary);
  std::string bytes(kMostBytes, '\0');
  stream.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  bytes.resize(static_cast<std::size_t>(stream.gcount()));
  if (bytes.starts_with(kByteOrderMark)) bytes.erase(0, kByteOrderMark.size());
  bytes.erase(std::min(bytes.find_first_of("\r\n"), bytes.size()));
  return bytes;
}

}  // namespace myxtts
