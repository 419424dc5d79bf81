// SPDX-License-Identifier: Apache-2.0
#include "cli/learning_text.h"

#include <algorithm>

#include "base/error.h"
#include "base/paths.h"
#include "text/cleaner.h"
#include "text/unicode.h"

namespace myxtts {
namespace {

constexpr std::size_t kLargestText = std::size_t{4} << 30;  // bytes

std::string clean_line(const std::string& line, const std::string& code) {
  for (const Language language : all_languages()) {
    if (language_code(language) == code) return clean_text(line, language);
  }
  std::string text = to_lower(repair_utf8(line));
  std::erase(text, '"');
  return collapse_spaces(text);
}

}  // namespace

std::vector<std::string> read_learning_text(const std::filesystem::path& path,
                                            const std::string& language) {
  const std::string text = read_text_file(path, "text", kLargestText);
  std::vector<std::string> sentences;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    std::string clean = clean_line(text.substr(at, end - at), language);
    if (!clean.empty()) sentences.push_back(std::move(clean));
    at = end + 1;
  }
  if (sentences.empty()) {
    throw DataError(fmt::format(
        "{} holds no text to learn from. Give a file with sentences of the language, one a line.",
        path.string()));
  }
  return sentences;
}

}  // namespace myxtts
