// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace myxtts {

// Why a clip is left out. One clip has one reason, the first that was found.
enum class SkipReason {
  BadLine,        // a line of the manifest that cannot be understood
  MissingFile,    // the manifest names it, the disk does not have it
  MissingText,    // a sound without the text file that its layout puts beside it
  Unreadable,     // not audio, or refused by the disk
  Empty,          // audio without a sample
  Truncated,      // shorter than its header promises
  NotANumber,     // NaN or infinite samples
  Clipped,        // at full scale throughout
  Silent,         // nothing to hear
  AudioTooShort,  // below data.min_seconds
  AudioTooLong,   // above data.max_seconds
  BadSampleRate,  // outside 8 to 192 kHz
  TextEmpty,
  TextNotUtf8,
  TextUnknown,      // not one known token, or one that is not known
  TextTooLong,      // above data.max_text_tokens
  TextTooFast,      // more characters a second than anybody speaks: a transcript of another clip
  TextTooSlow,      // fewer than anybody speaks
  UnknownLanguage,  // the vocabulary does not have the clip's language
  DuplicateId,
};

// "audio-too-long": what skipped.jsonl, --json and the documents call it.
std::string_view name_of(SkipReason reason);

// Every reason, in the order of the enumeration.
const std::vector<SkipReason>& all_skip_reasons();

// One clip that is left out. A value, not an error: other clips go on.
struct Skipped {
  std::filesystem::path file;  // the audio file; the manifest itself for a bad line
  std::filesystem::path manifest = {};
  std::int64_t line = 0;  // in the manifest, from 1; 0: no line names it
  SkipReason reason = SkipReason::Unreadable;
  std::string measured = {};  // "31.7 s, at most 11.6 s"
};

}  // namespace myxtts
