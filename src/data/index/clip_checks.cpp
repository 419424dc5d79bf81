// SPDX-License-Identifier: Apache-2.0
#include "data/index/clip_checks.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "base/message_text.h"
#include "config/value_text.h"
#include "text/language.h"
#include "text/unicode.h"

namespace myxtts {
namespace {

Skipped left_out_for(SkipReason reason, std::string measured) {
  return {.reason = reason, .measured = std::move(measured)};
}

constexpr double kTrainingRate = 22'050.0;
// Far more than any number of tokens that fits; beyond it, counting them only costs time.
constexpr std::size_t kLongestSentence = 20'000;

std::size_t count_letters(std::string_view text) {
  std::size_t count = 0;
  for (std::size_t at = 0; at < text.size();) {
    const char32_t letter = code_point_at(text, at);
    count += is_word(letter) ? 1 : 0;
    at += letter < 0x80 ? 1 : letter < 0x800 ? 2 : letter < 0x10000 ? 3 : 4;
  }
  return count;
}

}  // namespace

std::int64_t least_samples(const DataConfig& limits) {
  return static_cast<std::int64_t>(std::ceil(limits.min_seconds * kTrainingRate));
}

std::int64_t most_samples(const DataConfig& limits) {
  return limits.max_seconds
             ? static_cast<std::int64_t>(std::floor(*limits.max_seconds * kTrainingRate))
             : kLongestClip;
}

std::optional<Skipped> check_text(std::string_view text) {
  if (const auto at = first_invalid_utf8(text)) {
    return left_out_for(
        SkipReason::TextNotUtf8,
        fmt::format("byte 0x{:02x} at place {}", static_cast<unsigned char>(text[*at]), *at + 1));
  }
  if (text.size() > kLongestSentence) {
    return left_out_for(SkipReason::TextTooLong,
                        fmt::format("{} bytes, at most {}", text.size(), kLongestSentence));
  }
  if (strip_spaces(text).empty()) return left_out_for(SkipReason::TextEmpty, "0 characters");
  return std::nullopt;
}

std::optional<Skipped> check_tokens(std::span<const TokenId> ids, const Vocabulary& vocabulary,
                                    const DataConfig& limits) {
  const auto is_unknown = [&vocabulary](TokenId id) {
    return id == vocabulary.unknown() || id == vocabulary.stop();
  };
  if (const auto unknown = std::ranges::count_if(ids, is_unknown); unknown > 0) {
    return left_out_for(
        SkipReason::TextUnknown,
        fmt::format("{} of {} tokens are not in the vocabulary", unknown, ids.size()));
  }
  if (ids.size() <= 1)
    return left_out_for(SkipReason::TextEmpty, "nothing to speak once it was cleaned");
  if (static_cast<std::int64_t>(ids.size()) > limits.max_text_tokens) {
    return left_out_for(SkipReason::TextTooLong,
                        fmt::format("{} tokens, at most {}", ids.size(), limits.max_text_tokens));
  }
  return std::nullopt;
}

std::optional<Skipped> check_length(std::int64_t samples, const DataConfig& limits) {
  const double seconds = static_cast<double>(samples) / kTrainingRate;
  if (samples < least_samples(limits)) {
    return left_out_for(SkipReason::AudioTooShort,
                        fmt::format("{:.2f} s, at least {:.2f} s", seconds, limits.min_seconds));
  }
  if (samples > most_samples(limits)) {
    return left_out_for(SkipReason::AudioTooLong,
                        fmt::format("{:.2f} s, at most {:.2f} s", seconds,
                                    static_cast<double>(most_samples(limits)) / kTrainingRate));
  }
  return std::nullopt;
}

double chars_per_second(std::string_view text, double seconds) {
  return static_cast<double>(count_letters(text)) / seconds;
}

std::optional<Skipped> check_pace(std::string_view text, double seconds, const DataConfig& limits) {
  const double pace = chars_per_second(text, seconds);
  if (pace > limits.max_chars_per_second) {
    return left_out_for(SkipReason::TextTooFast,
                        fmt::format("{:.1f} characters a second, at most {:.1f}", pace,
                                    limits.max_chars_per_second));
  }
  if (pace < limits.min_chars_per_second) {
    return left_out_for(SkipReason::TextTooSlow,
                        fmt::format("{:.2f} characters a second, at least {:.2f}", pace,
                                    limits.min_chars_per_second));
  }
  return std::nullopt;
}

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
