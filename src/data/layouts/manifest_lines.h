// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

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

}  // namespace myxtts
