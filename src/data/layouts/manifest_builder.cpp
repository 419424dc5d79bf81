// SPDX-License-Identifier: Apache-2.0
#include "data/layouts/manifest_builder.h"

#include <algorithm>
#include <array>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>
#include <sys/stat.h>

#include "audio/ffmpeg.h"
#include "base/error.h"
#include "base/files.h"

namespace myxtts {
namespace {

constexpr std::size_t kMostBytes = std::size_t{8} << 30U;
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
constexpr std::string_view kBlanks = " \t\r\n\v\f";

// Where the quotes that open at the front of `text` close: the place behind them, when nothing but
// the end or a separator follows there.
std::size_t end_of_quotes(std::string_view text, char separator) {
  for (std::size_t at = 1; at < text.size(); ++at) {
    if (text[at] != '"') continue;
    if (at + 1 < text.size() && text[at + 1] == '"') {
      ++at;
      continue;
    }
    const bool closes = at + 1 == text.size() || text[at + 1] == separator;
    return closes ? at + 1 : std::string_view::npos;
  }
  return std::string_view::npos;
}

}  // namespace

ManifestLines::ManifestLines(const std::filesystem::path& path)
    : file_(path.string()), bytes_(read_text_file(path, "manifest", kMostBytes)), rest_(bytes_) {
  if (rest_.starts_with("\xff\xfe") || rest_.starts_with("\xfe\xff")) {
    throw DataError(fmt::format("The manifest {} is UTF-16; save it as UTF-8.", file_));
  }
  if (rest_.starts_with(kByteOrderMark)) rest_.remove_prefix(kByteOrderMark.size());
}

bool ManifestLines::next() {
  while (!rest_.empty()) {
    const std::size_t end = rest_.find('\n');
    line_ = rest_.substr(0, end);
    rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
    ++number_;
    if (line_.ends_with('\r')) line_.remove_suffix(1);
    if (!trimmed(line_).empty()) return true;
  }
  return false;
}

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

std::vector<std::string_view> split(std::string_view line, char separator) {
  std::vector<std::string_view> fields;
  for (;;) {
    const std::size_t end = line.find(separator);
    fields.push_back(trimmed(line.substr(0, end)));
    if (end == std::string_view::npos) return fields;
    line.remove_prefix(end + 1);
  }
}

std::string unquoted(std::string_view field) {
  if (!field.starts_with('"') || end_of_quotes(field, '\0') != field.size()) {
    return std::string(field);
  }
  std::string text;
  for (std::size_t at = 1; at + 1 < field.size(); ++at) {
    text += field[at];
    if (field[at] == '"') ++at;
  }
  return text;
}

std::vector<std::string> split_quoted(std::string_view line, char separator) {
  std::vector<std::string> fields;
  for (;;) {
    line = line.substr(std::min(line.find_first_not_of(' '), line.size()));
    const bool in_quotes = line.starts_with('"');
    const std::size_t closed = in_quotes ? end_of_quotes(line, separator) : std::string_view::npos;
    const std::size_t end = closed == std::string_view::npos
                                ? line.find(separator)
                                : (closed < line.size() ? closed : std::string_view::npos);
    fields.push_back(unquoted(trimmed(line.substr(0, end))));
    if (end == std::string_view::npos) return fields;
    line.remove_prefix(end + 1);
  }
}

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
