// SPDX-License-Identifier: Apache-2.0
#include "data/skipped.h"

namespace myxtts {

std::string_view name_of(SkipReason reason) {
  switch (reason) {
    case SkipReason::BadLine:
      return "bad-line";
    case SkipReason::MissingFile:
      return "missing-file";
    case SkipReason::MissingText:
      return "missing-text";
    case SkipReason::Unreadable:
      return "unreadable";
    case SkipReason::Empty:
      return "empty";
    case SkipReason::Truncated:
      return "truncated";
    case SkipReason::NotANumber:
      return "not-a-number";
    case SkipReason::Clipped:
      return "clipped";
    case SkipReason::Silent:
      return "silent";
    case SkipReason::AudioTooShort:
      return "audio-too-short";
    case SkipReason::AudioTooLong:
      return "audio-too-long";
    case SkipReason::BadSampleRate:
      return "bad-sample-rate";
    case SkipReason::TextEmpty:
      return "text-empty";
    case SkipReason::TextNotUtf8:
      return "text-not-utf8";
    case SkipReason::TextUnknown:
      return "text-unknown";
    case SkipReason::TextTooLong:
      return "text-too-long";
    case SkipReason::TextTooFast:
      return "text-too-fast";
    case SkipReason::TextTooSlow:
      return "text-too-slow";
    case SkipReason::UnknownLanguage:
      return "unknown-language";
    case SkipReason::DuplicateId:
      return "duplicate-id";
  }
  return {};
}

const std::vector<SkipReason>& all_skip_reasons() {
  static const std::vector<SkipReason> reasons = [] {
    std::vector<SkipReason> all;
    for (int value = 0; value <= static_cast<int>(SkipReason::DuplicateId); ++value) {
      all.push_back(static_cast<SkipReason>(value));
    }
    return all;
  }();
  return reasons;
}

}  // namespace myxtts
