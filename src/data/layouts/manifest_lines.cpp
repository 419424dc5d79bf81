// SPDX-License-Identifier: Apache-2.0
#include "data/layouts/manifest_lines.h"

#include <algorithm>

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

}  // namespace myxtts
