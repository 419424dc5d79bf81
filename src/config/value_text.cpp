// SPDX-License-Identifier: Apache-2.0
#include "config/value_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <functional>
#include <map>
#include <set>

#include <fmt/format.h>

namespace myxtts {
namespace {

template <typename Number>
std::optional<Number> parse_whole(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string small_letters(std::string_view text) {
  std::string small(text);
  std::transform(small.begin(), small.end(), small.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return small;
}

bool is_small_letter(char c) {
  return c >= 'a' && c <= 'z';
}

bool is_control(unsigned char c) {
  return c < 0x20 || c == 0x7f;
}

// How many bytes the character at the front of `bytes` has; 0 when it is not UTF-8.
std::size_t character_length(std::string_view bytes) {
  const auto byte = [&](std::size_t index) { return static_cast<unsigned char>(bytes[index]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || bytes.size() < length) return 0;
  for (std::size_t index = 1; index < length; ++index) {
    if ((byte(index) & 0xc0) != 0x80) return 0;
  }
  const bool overlong = (first == 0xe0 && byte(1) < 0xa0) || (first == 0xf0 && byte(1) < 0x90);
  const bool surrogate = first == 0xed && byte(1) > 0x9f;
  const bool beyond_unicode = first == 0xf4 && byte(1) > 0x8f;
  return overlong || surrogate || beyond_unicode ? 0 : length;
}

// A character that a reader may take for the end of a line or drop: the C1 controls, U+2028,
// U+2029 and the byte-order mark.
bool is_fragile(std::string_view character) {
  return (character[0] == '\xc2' && static_cast<unsigned char>(character[1]) < 0xa0) ||
         character == "\xe2\x80\xa8" || character == "\xe2\x80\xa9" || character == "\xef\xbb\xbf";
}

std::uint32_t code_point(std::string_view character) {
  const auto lead_mask = character.size() == 2 ? 0x1fU : character.size() == 3 ? 0x0fU : 0x07U;
  std::uint32_t code = static_cast<unsigned char>(character[0]) & lead_mask;
  for (const char c : character.substr(1))
    code = code << 6U | (static_cast<unsigned char>(c) & 0x3fU);
  return code;
}

bool is_plain_yaml(std::string_view text) {
  const auto is_plain = [](char c) {
    return is_small_letter(c) || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '/' || c == '_';
  };
  const auto is_inner = [&](char c) { return is_plain(c) || c == '-' || c == ':'; };
  return !text.empty() && is_plain(text.front()) &&
         std::all_of(text.begin(), text.end(), is_inner) && text.back() != ':' &&
         small_letters(text) != "null";
}

}  // namespace

std::optional<std::int64_t> parse_integer(std::string_view text) {
  return parse_whole<std::int64_t>(text);
}

std::optional<double> parse_number(std::string_view text) {
  const auto value = parse_whole<double>(text);
  return value && std::isfinite(*value) ? value : std::nullopt;
}

std::string format_number(double value) {
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

std::optional<bool> parse_switch(std::string_view text) {
  const std::string word = small_letters(text);
  if (word == "true" || word == "yes" || word == "on") return true;
  if (word == "false" || word == "no" || word == "off") return false;
  return std::nullopt;
}

std::optional<SplitGpu> parse_split_gpu(std::string_view text) {
  const std::size_t colon = text.find(':');
  const auto gpu = parse_integer(text.substr(0, colon));
  if (!gpu || *gpu < 0 || *gpu > kMostGpu) return std::nullopt;
  if (colon == std::string_view::npos) return SplitGpu{.gpu = *gpu, .multiprocessors = {}};
  const auto multiprocessors = parse_integer(text.substr(colon + 1));
  if (!multiprocessors || *multiprocessors < 1 || *multiprocessors > 1024) return std::nullopt;
  return SplitGpu{.gpu = *gpu, .multiprocessors = multiprocessors};
}

std::string format_split_gpu(const SplitGpu& split) {
  if (!split.multiprocessors) return std::to_string(split.gpu);
  return fmt::format("{}:{}", split.gpu, *split.multiprocessors);
}

std::vector<std::string_view> split_at_commas(std::string_view text) {
  std::vector<std::string_view> parts;
  while (true) {
    const auto end = std::min(text.find(','), text.size());
    parts.push_back(text.substr(0, end));
    if (end == text.size()) return parts;
    text.remove_prefix(end + 1);
  }
}

std::optional<Weights> parse_weights(std::string_view text) {
  constexpr double kMostWeight = 1000.0;
  Weights weights;
  for (const std::string_view pair : split_at_commas(text)) {
    const auto equals = pair.rfind('=');
    if (equals == std::string_view::npos || equals == 0) return std::nullopt;
    const auto weight = parse_number(pair.substr(equals + 1));
    if (!weight || *weight <= 0 || *weight > kMostWeight) return std::nullopt;
    if (!weights.emplace(pair.substr(0, equals), *weight).second) return std::nullopt;
  }
  return weights;
}

std::string format_weights(const Weights& weights) {
  std::string text;
  for (const auto& [name, weight] : weights) {
    if (!text.empty()) text += ",";
    text += name + "=" + format_number(weight);
  }
  return text;
}

namespace {

using LanguageNames = std::map<std::string, std::string, std::less<>>;

// What others write in place of the codes that the program knows: the three letters of ISO 639-2
// and -3, and codes of countries that are no codes of languages.
const LanguageNames& codes_of_others() {
  static const LanguageNames codes = {
      {"eng", "en"},   {"spa", "es"}, {"fra", "fr"},    {"fre", "fr"},    {"deu", "de"},
      {"ger", "de"},   {"ita", "it"}, {"por", "pt"},    {"pol", "pl"},    {"tur", "tr"},
      {"rus", "ru"},   {"nld", "nl"}, {"dut", "nl"},    {"ces", "cs"},    {"cze", "cs"},
      {"cz", "cs"},    {"ara", "ar"}, {"zho", "zh-cn"}, {"chi", "zh-cn"}, {"cmn", "zh-cn"},
      {"cn", "zh-cn"}, {"jpn", "ja"}, {"jp", "ja"},     {"hun", "hu"},    {"kor", "ko"},
      {"hin", "hi"},   {"fas", "fa"}, {"per", "fa"},    {"pes", "fa"}};
  return codes;
}

}  // namespace

bool is_language_code(std::string_view text) {
  const std::size_t dash = text.find('-');
  const std::string_view language = text.substr(0, dash);
  if (codes_of_others().contains(language)) return false;
  const auto all_small = [](std::string_view part) {
    return std::all_of(part.begin(), part.end(), is_small_letter);
  };
  if (language.size() < 2 || language.size() > 3 || !all_small(language)) return false;
  if (dash == std::string_view::npos) return true;
  const std::string_view region = text.substr(dash + 1);
  return region.size() >= 2 && region.size() <= 4 && all_small(region);
}

std::optional<std::string> language_code_meant(std::string_view name) {
  static const LanguageNames names = {
      {"english", "en"},    {"spanish", "es"},     {"french", "fr"},     {"german", "de"},
      {"italian", "it"},    {"polish", "pl"},      {"portuguese", "pt"}, {"turkish", "tr"},
      {"russian", "ru"},    {"dutch", "nl"},       {"czech", "cs"},      {"arabic", "ar"},
      {"chinese", "zh-cn"}, {"mandarin", "zh-cn"}, {"zh", "zh-cn"},      {"japanese", "ja"},
      {"hungarian", "hu"},  {"korean", "ko"},      {"hindi", "hi"},      {"persian", "fa"},
      {"farsi", "fa"}};
  std::string lower;
  for (const char c : name) lower += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  const std::string language = lower.substr(0, lower.find_first_of("-_"));
  for (const LanguageNames* known : {&names, &codes_of_others()}) {
    if (const auto found = known->find(language); found != known->end()) return found->second;
  }
  const bool is_code = language.size() == 2 && is_language_code(language);
  return is_code ? std::optional(language) : std::nullopt;
}

bool is_text(std::string_view bytes) {
  if (bytes.find('\0') != std::string_view::npos) return false;
  while (!bytes.empty()) {
    const std::size_t length = character_length(bytes);
    if (length == 0) return false;
    bytes.remove_prefix(length);
  }
  return true;
}

std::string one_line(std::string_view text) {
  std::string line;
  while (!text.empty()) {
    const std::size_t length = character_length(text);
    const auto first = static_cast<unsigned char>(text[0]);
    const bool shown = length > 0 && !is_control(first);
    line += shown ? std::string(text.substr(0, length)) : fmt::format("\\x{:02x}", first);
    text.remove_prefix(shown ? length : 1);
  }
  return line;
}

std::string quote(std::string_view text) {
  constexpr std::size_t kLongest = 80;
  if (text.size() <= kLongest) return fmt::format("'{}'", one_line(text));
  std::size_t end = kLongest;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0U) == 0x80) --end;
  return fmt::format("'{}...'", one_line(text.substr(0, end)));
}

std::string listed(const std::vector<std::string>& words) {
  std::string list;
  for (std::size_t index = 0; index < words.size(); ++index) {
    if (index > 0) list += index + 1 == words.size() ? " or " : ", ";
    list += words[index];
  }
  return list;
}

std::string yaml_scalar(std::string_view text, bool must_quote) {
  if (!must_quote && is_plain_yaml(text)) return std::string(text);
  std::string yaml = "\"";
  for (std::string_view rest = text; !rest.empty();) {
    const std::size_t length = std::max<std::size_t>(1, character_length(rest));
    const std::string_view character = rest.substr(0, length);
    if (character == "\"" || character == "\\") {
      yaml += fmt::format("\\{}", character);
    } else if (is_control(static_cast<unsigned char>(character[0]))) {
      yaml += fmt::format("\\x{:02x}", static_cast<unsigned char>(character[0]));
    } else if (length > 1 && is_fragile(character)) {
      yaml += fmt::format("\\u{:04x}", code_point(character));
    } else {
      yaml += character;
    }
    rest.remove_prefix(length);
  }
  return yaml + "\"";
}

namespace {

constexpr double kLeastWeight = 0.01;
constexpr double kMostWeight = 100.0;

// Whether `text` goes on as an option does: "language=".
bool begins_option(std::string_view text) {
  const auto end = std::ranges::find_if(text, [](char c) { return c < 'a' || c > 'z'; });
  return end != text.begin() && end != text.end() && *end == '=';
}

// "a,b=1" as "a" and "b=1", with what \, and \\ stand for put in their place.
std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> parts(1);
  for (std::size_t at = 0; at < text.size(); ++at) {
    const std::string_view rest = text.substr(at + 1);
    if (text[at] == '\\' && (rest.starts_with(',') || rest.starts_with('\\'))) {
      parts.back() += text[++at];
    } else if (text[at] == ',' && begins_option(rest)) {
      parts.emplace_back();
    } else {
      parts.back() += text[at];
    }
  }
  return parts;
}

std::string escaped(std::string_view part) {
  std::string text;
  for (std::size_t at = 0; at < part.size(); ++at) {
    const bool is_special =
        part[at] == '\\' || (part[at] == ',' && begins_option(part.substr(at + 1)));
    if (is_special) text += '\\';
    text += part[at];
  }
  return text;
}

std::optional<CorpusLayout> layout_named(std::string_view name) {
  for (const auto& [known, layout] : corpus_layouts()) {
    if (known == name) return layout;
  }
  return std::nullopt;
}

bool set_option(std::string_view key, std::string_view value, CorpusSource& source) {
  if (key == "language" && is_language_code(value)) {
    source.language = std::string(value);
    return true;
  }
  if (key == "format") {
    source.layout = layout_named(value);
    return source.layout.has_value();
  }
  const auto weight = parse_number(value);
  if (key != "weight" || !weight || *weight < kLeastWeight || *weight > kMostWeight) return false;
  source.weight = *weight;
  return true;
}

}  // namespace

const std::vector<std::pair<std::string, CorpusLayout>>& corpus_layouts() {
  static const std::vector<std::pair<std::string, CorpusLayout>> layouts = {
      {"ljspeech", CorpusLayout::LjSpeech},
      {"original", CorpusLayout::Original},
      {"vctk", CorpusLayout::Vctk},
      {"common-voice", CorpusLayout::CommonVoice},
      {"libritts", CorpusLayout::LibriTts},
      {"coqui", CorpusLayout::CoquiCsv},
      {"plain", CorpusLayout::Plain},
      {"nemo", CorpusLayout::NemoJsonl},
      {"text-files", CorpusLayout::TextFiles},
  };
  return layouts;
}

std::string_view name_of(CorpusLayout layout) {
  for (const auto& [name, known] : corpus_layouts()) {
    if (known == layout) return name;
  }
  return {};
}

std::optional<CorpusSource> parse_corpus_source(std::string_view text) {
  if (!is_text(text)) return std::nullopt;
  const auto parts = split(text);
  if (parts.front().empty()) return std::nullopt;
  CorpusSource source{.path = parts.front()};
  std::set<std::string_view> seen;
  for (std::size_t index = 1; index < parts.size(); ++index) {
    const std::string_view option = parts[index];
    const std::size_t equals = option.find('=');
    const std::string_view key = option.substr(0, equals);
    if (!seen.insert(key).second) return std::nullopt;
    if (!set_option(key, option.substr(equals + 1), source)) return std::nullopt;
  }
  return source;
}

std::string format_corpus_source(const CorpusSource& source) {
  std::string text = escaped(source.path.string());
  if (source.language) text += ",language=" + *source.language;
  if (source.weight != 1.0) text += ",weight=" + format_number(source.weight);
  if (source.layout) text += ",format=" + std::string(name_of(*source.layout));
  return text;
}

const std::vector<std::string>& corpus_source_keys() {
  static const std::vector<std::string> keys = {"path", "language", "weight", "format"};
  return keys;
}

std::optional<std::string> corpus_source_text(
    const std::vector<std::pair<std::string, std::string>>& map) {
  std::string path;
  std::string options;
  for (const auto& [key, value] : map) {
    if (key == "path") {
      path = escaped(value);
    } else {
      options += "," + key + "=" + escaped(value);
    }
  }
  return path.empty() ? std::nullopt : std::optional(path + options);
}

}  // namespace myxtts
