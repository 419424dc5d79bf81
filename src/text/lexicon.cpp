// SPDX-License-Identifier: Apache-2.0
#include "text/lexicon.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "base/files.h"
#include "base/message_text.h"
#include "text/unicode.h"

namespace myxtts {
namespace {

constexpr std::size_t kLargestLexicon = std::size_t{64} << 20U;  // bytes

// Letters, digits and the marks upon them.
bool is_part_of_word(char32_t sign) {
  return is_word(sign) || is_mark(sign);
}

// A run of letters, a run of blanks, or one sign.
struct TextWord {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::string lower = {};  // a run of blanks is one space
};

TextWord word_at(std::string_view text, std::size_t begin) {
  const auto length = [&](std::size_t at) {
    return static_cast<std::size_t>(U8_LENGTH(code_point_at(text, at)));
  };
  const char32_t first = code_point_at(text, begin);
  std::size_t end = begin + length(begin);
  if (is_space(first)) {
    while (end < text.size() && is_space(code_point_at(text, end))) end += length(end);
    return {begin, end, " "};
  }
  const bool is_run = is_part_of_word(first) && !is_unspaced(first);
  while (is_run && end < text.size()) {
    const char32_t next = code_point_at(text, end);
    if (!is_part_of_word(next) || is_unspaced(next)) break;
    end += length(end);
  }
  return {begin, end, to_lower(text.substr(begin, end - begin))};
}

std::vector<TextWord> words_of(std::string_view text) {
  std::vector<TextWord> words;
  for (std::size_t at = 0; at < text.size(); at = words.back().end) {
    words.push_back(word_at(text, at));
  }
  return words;
}

// The field up to the next tab, which is taken off `line`.
std::string_view next_field(std::string_view& line) {
  const auto end = std::min(line.find('\t'), line.size());
  const auto field = line.substr(0, end);
  line.remove_prefix(std::min(end + 1, line.size()));
  return strip_spaces(field);
}

}  // namespace

Lexicon::Lexicon(std::string_view text, const std::string& subject) {
  if (const auto at = first_invalid_utf8(text)) {
    throw DataError(fmt::format("{} is not UTF-8 at byte {}; save it as UTF-8.", subject, *at));
  }
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);  // a byte-order mark
  for (std::size_t number = 1; !text.empty(); ++number) {
    const auto end = std::min(text.find('\n'), text.size());
    const auto line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (strip_spaces(line).empty() || line.starts_with('#')) continue;
    add(line, fmt::format("{}, line {}", subject, number));
  }
  for (auto& [first, entries] : entries_) {
    std::ranges::stable_sort(entries, std::ranges::greater(), [](const Entry& entry) {
      return std::tuple(entry.words.size(), entry.language.has_value(), !entry.written.empty());
    });
  }
}

Lexicon Lexicon::load(const std::filesystem::path& file) {
  return {read_text_file(file, "lexicon", kLargestLexicon), file.string()};
}

void Lexicon::add(std::string_view line, const std::string& place) {
  const auto written = next_field(line);
  const auto said = next_field(line);
  const auto language = next_field(line);
  if (written.empty() || said.empty() || !line.empty()) {
    throw DataError(fmt::format(
        "{}: write a word, a tab and how it is said, and after another tab its language if it "
        "holds for one alone.",
        place));
  }
  Entry entry{.words = {}, .written = {}, .said = std::string(said), .language = {}};
  for (TextWord& word : words_of(written)) entry.words.push_back(std::move(word.lower));
  if (to_lower(written) != written) entry.written = collapse_spaces(written);
  if (!language.empty()) {
    try {
      entry.language = parse_language(language);
    } catch (const ConfigError&) {
      throw DataError(fmt::format("{}: \"{}\" is no language; write a code such as en or pt-BR.",
                                  place, printable(language)));
    }
  }
  auto& others = entries_[entry.words.front()];
  for (const Entry& other : others) {
    if (other.words != entry.words || other.written != entry.written) continue;
    if (other.language != entry.language) continue;
    throw DataError(
        fmt::format("{}: \"{}\" is there already, said as \"{}\"; leave one of them out.", place,
                    written, other.said));
  }
  others.push_back(std::move(entry));
  ++size_;
}

std::string Lexicon::apply(std::string_view text, Language language) const {
  if (size_ == 0) return std::string(text);
  const auto words = words_of(text);
  const auto matches = [&](const Entry& entry, std::size_t at) {
    if (entry.language && *entry.language != language) return false;
    if (at + entry.words.size() > words.size()) return false;
    for (std::size_t i = 0; i < entry.words.size(); ++i) {
      if (entry.words[i] != words[at + i].lower) return false;
    }
    const auto begin = words[at].begin;
    const auto end = words[at + entry.words.size() - 1].end;
    return entry.written.empty() ||
           entry.written == collapse_spaces(text.substr(begin, end - begin));
  };
  std::string result;
  for (std::size_t at = 0; at < words.size();) {
    const auto entries = entries_.find(words[at].lower);
    const Entry* found = nullptr;
    if (entries != entries_.end()) {
      const auto match = std::ranges::find_if(
          entries->second, [&](const Entry& entry) { return matches(entry, at); });
      if (match != entries->second.end()) found = &*match;
    }
    if (found != nullptr) {
      result += found->said;
      at += found->words.size();
    } else {
      result += text.substr(words[at].begin, words[at].end - words[at].begin);
      ++at;
    }
  }
  return result;
}

}  // namespace myxtts
