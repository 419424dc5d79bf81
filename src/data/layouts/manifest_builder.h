// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "data/layouts/layout.h"
#include "data/layouts/manifest.h"

namespace myxtts {

// A manifest file, line by line, without its byte-order mark and its line ends of either kind.
//
//   ManifestLines lines(path);
//   while (lines.next()) use(lines.text(), lines.number());
class ManifestLines {
 public:
  // Throws DataError when the file cannot be read or is UTF-16.
  explicit ManifestLines(const std::filesystem::path& path);
  ManifestLines(const ManifestLines&) = delete;
  ManifestLines& operator=(const ManifestLines&) = delete;

  // Goes to the next line that is not blank; false at the end.
  bool next();

  std::string_view text() const { return line_; }  // good as long as the object
  std::int64_t number() const { return number_; }  // from 1
  const std::string& file() const { return file_; }

  // A clip that the line names: what it says besides the audio.
  ManifestEntry entry(std::string_view clip_text, std::string_view speaker = {},
                      std::string_view language = {}) const {
    return {.text = std::string(clip_text),
            .speaker = std::string(speaker),
            .language = std::string(language),
            .manifest = file_,
            .line = number_};
  }

 private:
  std::string file_;
  std::string bytes_;
  std::string_view rest_;
  std::string_view line_;
  std::int64_t number_ = 0;
};

// Without blanks of ASCII at its ends.
std::string_view trimmed(std::string_view text);

std::vector<std::string_view> split(std::string_view line, char separator);

// A field as CSV writes it: "a ""b""" stands for a "b". Text in quotes whose inner quotes are not
// doubled is left as it is: it is speech.
std::string unquoted(std::string_view field);

// Splits at separators that do not stand in such quotes, and takes the quotes off.
std::vector<std::string> split_quoted(std::string_view line, char separator);

// The columns of a table whose first line names them.
class NamedColumns {
 public:
  explicit NamedColumns(std::vector<std::string> names) : names_(std::move(names)) {}

  std::size_t size() const { return names_.size(); }
  bool has(std::string_view name) const { return place_of(name).has_value(); }
  bool reaches(const std::vector<std::string>& fields, std::string_view name) const {
    const auto place = place_of(name);
    return place && *place < fields.size();
  }

  // The field of a line under that name; empty where there is no such column or field.
  std::string_view field(const std::vector<std::string>& fields, std::string_view name) const {
    const auto place = place_of(name);
    return place && *place < fields.size() ? std::string_view(fields[*place]) : std::string_view();
  }

 private:
  std::optional<std::size_t> place_of(std::string_view name) const {
    for (std::size_t index = 0; index < names_.size(); ++index) {
      if (names_[index] == name) return index;
    }
    return std::nullopt;
  }

  std::vector<std::string> names_;
};

// Finds the audio files that a manifest names: below one of several folders, or anywhere by an
// absolute path; with or without extension.
class ClipFinder {
 public:
  // Looks into `folders` in their order. Ids start from `root`.
  ClipFinder(const std::filesystem::path& root, const std::vector<std::filesystem::path>& folders);

  // The path of an existing file.
  std::optional<std::string> find(std::string_view name) const;

  // The path below the root, without the extension of audio; the whole path when the file lies
  // elsewhere.
  std::string id_of(std::string_view audio) const;

 private:
  std::optional<std::string> find_below(std::string_view folder, std::string_view name) const;

  std::string root_;  // ends with a slash, or is empty for the working directory
  std::vector<std::string> folders_;
};

// The endings of audio_endings(), in letters of either case.
bool has_audio_extension(std::string_view name);
std::string_view without_audio_extension(std::string_view name);

// Those of `files`, which are sorted, that are recordings. One that ffmpeg would read is left out
// where libsndfile reads another of the same name: it was converted.
std::vector<std::string> recordings_among(const std::vector<std::string>& files);

bool is_file(const std::string& path);

// Collects the clips of a corpus: finds their audio, gives them ids and sees to it that no id
// comes twice.
class ManifestBuilder {
 public:
  ManifestBuilder(CorpusLayout layout, const std::filesystem::path& root,
                  const std::vector<std::filesystem::path>& audio_folders);

  // A clip whose audio the manifest calls `name`. Of the entry, id and audio are found here.
  void add(std::string_view name, ManifestEntry entry);

  // A clip whose audio is known to be there.
  void add_found(std::string audio, ManifestEntry entry);

  void add_bad_line(const ManifestLines& lines, std::string measured);
  void add_skipped(Skipped skipped) { manifest_.skipped.push_back(std::move(skipped)); }

  // Whether the manifest's first line only names its columns.
  bool is_header(std::string_view first_field, const ManifestLines& lines) const;

  Manifest take() { return std::move(manifest_); }

 private:
  ClipFinder finder_;
  std::unordered_map<std::string, std::size_t> first_of_;  // id to its entry
  Manifest manifest_;
};

}  // namespace myxtts
