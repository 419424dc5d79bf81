// SPDX-License-Identifier: Apache-2.0
#include "data/layouts/layout.h"

#include <dirent.h>
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <limits>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include <sys/stat.h>

#include "base/error.h"
#include "base/file_remedies.h"
#include "base/files.h"
#include "data/layouts/corpus_faults.h"
#include "data/layouts/manifest_builder.h"

namespace myxtts {
namespace {

constexpr std::size_t kDeepest = 64;

using CloseFolder = decltype([](DIR* folder) { ::closedir(folder); });

// DT_DIR, DT_REG or something else; links are followed.
unsigned char type_of(const std::string& path, unsigned char listed) {
  if (listed != DT_UNKNOWN && listed != DT_LNK) return listed;
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return DT_UNKNOWN;
  return S_ISDIR(status.st_mode) ? DT_DIR : S_ISREG(status.st_mode) ? DT_REG : DT_UNKNOWN;
}

// Adds the files below a folder until there are `most`; `entered` are the folders that were seen.
void add_files(const std::string& folder, std::size_t depth, std::size_t most,
               std::set<std::pair<dev_t, ino_t>>& entered, std::vector<std::string>& files) {
  struct stat status {};
  if (::stat(folder.c_str(), &status) != 0) return;
  if (depth > kDeepest || !entered.emplace(status.st_dev, status.st_ino).second) return;
  const std::unique_ptr<DIR, CloseFolder> open(::opendir(folder.c_str()));
  if (!open) {
    const int code = errno;
    throw DataError(
        fmt::format("The folder {} cannot be read: {}.{}", folder, std::strerror(code),
                    code == EACCES ? " " + permission_remedy(folder, FileUse::Read) : ""));
  }
  while (const dirent* entry = ::readdir(open.get())) {
    if (files.size() >= most) return;
    if (entry->d_name[0] == '.') continue;
    std::string path = folder + "/" + entry->d_name;
    const unsigned char type = type_of(path, entry->d_type);
    if (type == DT_DIR) add_files(path, depth + 1, most, entered, files);
    if (type == DT_REG) files.push_back(std::move(path));
  }
}

}  // namespace

std::vector<std::string> some_files_below(const std::filesystem::path& folder, std::size_t most) {
  std::vector<std::string> files;
  std::set<std::pair<dev_t, ino_t>> entered;
  add_files(folder.string(), 0, most, entered, files);
  return files;
}

std::vector<std::string> files_below(const std::filesystem::path& folder) {
  auto files = some_files_below(folder, std::numeric_limits<std::size_t>::max());
  std::ranges::sort(files);
  return files;
}

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
  const ClipFinder finder(folder, {folder, subfolder(folder, "wavs")});
  return manifests_in(folder, {".csv", ".txt", ".psv", ".list"}, [&finder](std::string_view line) {
    return line.find('|') != line.npos && finder.find(split_quoted(line, '|')[0]).has_value();
  });
}

namespace {

namespace fs = std::filesystem;

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
  return is_folder(subfolder(folder, "clips")) && !table.empty() &&
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
  std::set<std::string> texts;
  std::vector<std::string> recordings;
  for (const std::string& file : some_files_below(folder, kEnough)) {
    if (file.ends_with(".normalized.txt")) return CorpusLayout::LibriTts;
    if (file.ends_with(".txt")) texts.insert(file);
    if (has_audio_extension(file)) recordings.push_back(file);
  }
  const bool has_pair = std::ranges::any_of(recordings, [&texts](const std::string& recording) {
    return texts.contains(std::string(without_audio_extension(recording)) + ".txt");
  });
  // Where corpora with manifests lie below it, the pair is but a part of what is there.
  if (!has_pair || !corpora_below(folder).empty()) return std::nullopt;
  return CorpusLayout::TextFiles;
}

// The folders in those folders, sorted.
std::vector<fs::path> folders_in(const std::vector<fs::path>& around, std::size_t most) {
  std::vector<fs::path> folders;
  for (const fs::path& each : around) {
    std::error_code failed;
    for (const auto& entry : fs::directory_iterator(each, failed)) {
      if (entry.path().filename().string().starts_with('.') || !is_folder(entry.path())) continue;
      folders.push_back(entry.path());
      if (folders.size() >= most) break;
    }
  }
  std::ranges::sort(folders);
  if (folders.size() > most) folders.resize(most);
  return folders;
}

}  // namespace

std::optional<CorpusLayout> layout_by_manifest(const fs::path& folder) {
  if (is_vctk(folder)) return CorpusLayout::Vctk;
  if (is_common_voice(folder)) return CorpusLayout::CommonVoice;
  if (!coqui_manifests(folder).train.empty()) return CorpusLayout::CoquiCsv;
  const auto parts = first_file(folder, {"metadata_train.csv"});
  if (!parts.empty() && names_bare_ids(parts)) return CorpusLayout::Original;
  const auto metadata = first_file(folder, {"metadata.csv"});
  if (!metadata.empty() && names_bare_ids(metadata)) return CorpusLayout::LjSpeech;
  if (!nemo_manifests(folder).train.empty()) return CorpusLayout::NemoJsonl;
  if (!plain_manifests(folder).train.empty()) return CorpusLayout::Plain;
  return std::nullopt;
}

std::vector<std::string> corpora_below(const fs::path& folder) {
  constexpr int kLevels = 3;
  constexpr std::size_t kMostFolders = 300;
  std::vector<std::string> corpora;
  std::vector<fs::path> around{folder};
  for (int level = 0; level < kLevels && corpora.empty(); ++level) {
    around = folders_in(around, kMostFolders);
    for (const fs::path& each : around) {
      if (layout_by_manifest(each)) corpora.push_back(each.string());
    }
  }
  return corpora;
}

namespace {

std::optional<CorpusLayout> layout_of_folder(const fs::path& folder) {
  const auto layout = layout_by_manifest(folder);
  return layout ? layout : layout_of_tree(folder);
}

std::optional<CorpusLayout> layout_of_file(const fs::path& folder, const fs::path& file) {
  if (has_audio_extension(file.string())) return std::nullopt;
  const std::string line = first_line_of(file);
  if (is_nemo_line(line)) return CorpusLayout::NemoJsonl;
  if (is_common_voice_header(line)) return CorpusLayout::CommonVoice;
  if (is_coqui_header(line)) return CorpusLayout::CoquiCsv;
  if (line.find('|') == line.npos) return std::nullopt;
  const bool is_metadata = file.filename().string().starts_with("metadata");
  const bool is_ids = names_bare_ids(file) && is_folder(subfolder(folder, "wavs"));
  return is_metadata && is_ids ? CorpusLayout::LjSpeech : CorpusLayout::Plain;
}

}  // namespace

CorpusLayout detect_layout(const LayoutFiles& files) {
  const bool is_file = !files.manifest.empty();
  const auto layout =
      is_file ? layout_of_file(files.folder, files.manifest) : layout_of_folder(files.folder);
  if (layout) return *layout;
  throw DataError(no_layout_found(files));
}

namespace {

// The entry of that name, or the first one that differs from it by case alone.
fs::path entry_named(const fs::path& folder, std::string_view name) {
  const auto small = [](std::string text) {
    for (char& c : text) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    return text;
  };
  std::error_code failed;
  if (fs::exists(folder / name, failed)) return folder / name;
  std::vector<fs::path> like;
  for (const auto& entry : fs::directory_iterator(folder, failed)) {
    if (small(entry.path().filename().string()) == name) like.push_back(entry.path());
  }
  return like.empty() ? folder / name : *std::ranges::min_element(like);
}

}  // namespace

fs::path subfolder(const fs::path& folder, std::string_view name) {
  const fs::path found = entry_named(folder, name);
  return is_folder(found) ? found : folder / name;
}

fs::path first_file(const fs::path& folder, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (const fs::path found = entry_named(folder, name); is_file(found.string())) return found;
  }
  return {};
}

}  // namespace myxtts
