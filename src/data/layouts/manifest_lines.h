// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

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

}  // namespace myxtts
