// SPDX-License-Identifier: Apache-2.0
#include "data/index/script_check.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "base/message_text.h"
#include "text/language.h"

namespace myxtts {
namespace {

constexpr std::size_t kMostTexts = 10'000;  // that are looked at, all over the corpus
constexpr std::size_t kOddShare = 10;       // one of so many is worth a warning

// Texts whose script is not their language's, by language and script: the languages that they look
// like, and how many of them do.
using Likely = std::map<std::string, std::size_t>;
using OddTexts = std::map<std::pair<std::string, std::string>, Likely>;

std::size_t texts_of(const Likely& likely) {
  std::size_t texts = 0;
  for (const auto& [language, count] : likely) texts += count;
  return texts;
}

// Adds the text where it is odd; gives whether that can be told.
bool look_at(std::string_view text, const std::string& language, OddTexts& odd) {
  const auto script = script_of(text);
  if (script.empty()) return false;
  if (!uses_script(parse_language(language), script)) {
    ++odd[{language, std::string(script)}][likely_language(text, script)];
  }
  return true;
}

bool has_unknown_texts(const ClipIndex& index) {
  return std::ranges::any_of(index.skipped(), [](const Skipped& skipped) {
    return skipped.reason == SkipReason::TextUnknown;
  });
}

// Of the clips that are kept; of all where some were left out for letters that no token has, which
// is what the wrong language does to them. Gives how many were looked at.
std::size_t find_odd_texts(const ScanRequest& request, const ClipIndex& index, OddTexts& odd) {
  std::size_t looked_at = 0;
  if (!has_unknown_texts(index)) {
    for (std::size_t i = 0; i < index.size(); i += index.size() / kMostTexts + 1) {
      const ClipView clip = index.clip(i);
      looked_at += look_at(clip.text, std::string(clip.language), odd) ? 1 : 0;
    }
    return looked_at;
  }
  CorpusSource source = request.source;
  if (!source.layout) source.layout = request.config.format;
  const Manifest manifest = read_manifest(source, request.part);
  for (std::size_t i = 0; i < manifest.entries.size();
       i += manifest.entries.size() / kMostTexts + 1) {
    const ManifestEntry& entry = manifest.entries[i];
    if (!entry.language.empty()) continue;
    looked_at += look_at(entry.text, request.language(), odd) ? 1 : 0;
  }
  return looked_at;
}

// What gives the texts another language: where theirs came from decides.
std::string remedy(const ScanRequest& request, const std::string& language,
                   const std::string& likely) {
  if (parse_language(language) != parse_language(request.language())) {
    return "mend the language that the manifest gives them";
  }
  const std::string code = likely.empty() ? "CODE, with the code of their language" : likely;
  if (!request.source.language) return fmt::format("give --language {}", code);
  return fmt::format("give {},language={}", shell_word(request.source.path.string()), code);
}

}  // namespace

std::string warning_of_scripts(const ScanRequest& request, const ClipIndex& index) {
  OddTexts odd;
  const std::size_t looked_at = find_odd_texts(request, index, odd);
  const auto most =
      std::ranges::max_element(odd, {}, [](const auto& kind) { return texts_of(kind.second); });
  if (most == odd.end() || texts_of(most->second) * kOddShare < looked_at) return {};
  const auto& [kind, likely] = *most;
  const auto& [language, script] = kind;
  const auto likeliest =
      std::ranges::max_element(likely, {}, [](const auto& counted) { return counted.second; });
  return fmt::format(
      "{} of {} transcripts of {} are written in {} script, which {} does not use: {}.",
      human_count(static_cast<std::int64_t>(texts_of(likely))),
      human_count(static_cast<std::int64_t>(looked_at)), request.source.path.string(), script,
      language, remedy(request, language, likeliest->first));
}

}  // namespace myxtts
