// SPDX-License-Identifier: Apache-2.0
#include "data/index/clip_checks.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "config/value_text.h"
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

}  // namespace myxtts
