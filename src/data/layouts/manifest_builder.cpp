// SPDX-License-Identifier: Apache-2.0
#include "data/layouts/manifest_builder.h"

#include <sys/stat.h>
#include <algorithm>
#include <array>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>

#include "audio/ffmpeg.h"

namespace myxtts {
namespace {

bool ends_with_letters(std::string_view name, std::string_view small) {
  if (name.size() <= small.size()) return false;
  const auto is_same = [](char c, char wanted) {
    return (c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c) == wanted;
  };
  return std::equal(small.begin(), small.end(),
                    name.end() - static_cast<std::ptrdiff_t>(small.size()),
                    [&](char wanted, char c) { return is_same(c, wanted); });
}

// "a/b/" for "a/b", "./a/b" and "a/b/."; empty for the working directory.
std::string with_slash(const std::filesystem::path& folder) {
  std::string text = folder.lexically_normal().string();
  if (text == ".") return {};
  if (!text.empty() && text.back() != '/') text += '/';
  return text;
}

bool is_normal(std::string_view path) {
  return path.find("//") == path.npos && path.find("/./") == path.npos &&
         path.find("/../") == path.npos && !path.starts_with("./") && !path.starts_with("../");
}

}  // namespace

bool has_audio_extension(std::string_view name) {
  return std::ranges::any_of(
      audio_endings(), [name](std::string_view known) { return ends_with_letters(name, known); });
}

std::string_view without_audio_extension(std::string_view name) {
  return has_audio_extension(name) ? name.substr(0, name.rfind('.')) : name;
}

std::vector<std::string> recordings_among(const std::vector<std::string>& files) {
  const auto is_read_by_ffmpeg = [](std::string_view name) {
    return std::ranges::any_of(audio_endings(), [name](std::string_view known) {
      return is_ffmpeg_ending(known) && ends_with_letters(name, known);
    });
  };
  std::vector<std::string> recordings;
  std::unordered_set<std::string_view> converted;  // names without ending
  for (const std::string& file : files) {
    if (!has_audio_extension(file)) continue;
    recordings.push_back(file);
    if (!is_read_by_ffmpeg(file)) converted.insert(without_audio_extension(file));
  }
  std::erase_if(recordings, [&](const std::string& file) {
    return is_read_by_ffmpeg(file) && converted.contains(without_audio_extension(file));
  });
  return recordings;
}

bool is_file(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

ClipFinder::ClipFinder(const std::filesystem::path& root,
                       const std::vector<std::filesystem::path>& folders)
    : root_(with_slash(root)) {
  for (const auto& folder : folders) folders_.push_back(with_slash(folder));
}

std::optional<std::string> ClipFinder::find(std::string_view name) const {
  if (name.empty() || name.find('\0') != name.npos) return std::nullopt;
  if (name.starts_with('/')) return find_below("", name);
  for (const std::string& folder : folders_) {
    if (auto found = find_below(folder, name)) return found;
  }
  if (name.find('\\') == name.npos) return std::nullopt;
  std::string slashes(name);  // a manifest that was written on Windows
  std::ranges::replace(slashes, '\\', '/');
  return find(slashes);
}

std::optional<std::string> ClipFinder::find_below(std::string_view folder,
                                                  std::string_view name) const {
  std::string path;
  path.reserve(folder.size() + name.size() + 5);
  path.append(folder).append(name);
  const std::size_t bare = path.size();
  if (!has_audio_extension(name)) {
    for (const std::string_view extension : audio_endings()) {
      path.append(extension);
      if (is_file(path)) return path;
      path.resize(bare);
    }
  }
  return is_file(path) ? std::optional(std::move(path)) : std::nullopt;
}

std::string ClipFinder::id_of(std::string_view audio) const {
  if (!is_normal(audio)) {
    const std::string normal = std::filesystem::path(audio).lexically_normal().string();
    if (is_normal(normal)) return id_of(normal);
  }
  if (audio.starts_with(root_)) audio.remove_prefix(root_.size());
  return std::string(without_audio_extension(audio));
}

ManifestBuilder::ManifestBuilder(CorpusLayout layout, const std::filesystem::path& root,
                                 const std::vector<std::filesystem::path>& audio_folders)
    : finder_(root, audio_folders) {
  manifest_.layout = layout;
}

void ManifestBuilder::add(std::string_view name, ManifestEntry entry) {
  const std::string_view wanted = trimmed(name);
  if (wanted.empty()) {
    add_skipped({.file = entry.manifest,
                 .manifest = entry.manifest,
                 .line = entry.line,
                 .reason = SkipReason::BadLine,
                 .measured = "no name of an audio file"});
    return;
  }
  if (auto audio = finder_.find(wanted)) {
    add_found(std::move(*audio), std::move(entry));
    return;
  }
  add_skipped({.file = std::string(wanted),
               .manifest = entry.manifest,
               .line = entry.line,
               .reason = SkipReason::MissingFile,
               .measured = "not on the disk"});
}

void ManifestBuilder::add_found(std::string audio, ManifestEntry entry) {
  std::string id = finder_.id_of(audio);
  const auto [first, is_new] = first_of_.try_emplace(id, manifest_.entries.size());
  if (!is_new) {
    const ManifestEntry& earlier = manifest_.entries[first->second];
    const std::string where =
        earlier.line > 0 ? fmt::format("line {}", earlier.line) : earlier.audio;
    add_skipped({.file = std::move(audio),
                 .manifest = entry.manifest,
                 .line = entry.line,
                 .reason = SkipReason::DuplicateId,
                 .measured = fmt::format("{} was named by {}", id, where)});
    return;
  }
  entry.id = std::move(id);
  entry.audio = std::move(audio);
  for (std::string* text : {&entry.text, &entry.speaker, &entry.language}) {
    std::string(trimmed(*text)).swap(*text);  // and gives the rest of its memory back
  }
  manifest_.entries.push_back(std::move(entry));
}

void ManifestBuilder::add_bad_line(const ManifestLines& lines, std::string measured) {
  add_skipped({.file = lines.file(),
               .manifest = lines.file(),
               .line = lines.number(),
               .reason = SkipReason::BadLine,
               .measured = std::move(measured)});
}

bool ManifestBuilder::is_header(std::string_view first_field, const ManifestLines& lines) const {
  static constexpr std::array kNames = {"id",         "file",      "file_name",  "filename",
                                        "path",       "wav",       "wav_file",   "audio",
                                        "audio_file", "file_path", "audio_path", "audio_filepath"};
  return lines.number() == 1 && std::ranges::find(kNames, first_field) != kNames.end() &&
         !finder_.find(first_field);
}

}  // namespace myxtts
