// SPDX-License-Identifier: Apache-2.0
#include "config/corpus_source.h"

#include <algorithm>
#include <set>

#include "config/value_text.h"

namespace myxtts {
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
