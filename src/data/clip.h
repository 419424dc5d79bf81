// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace myxtts {

// A kept clip's place in its Corpus, from 0.
using ClipNumber = std::uint32_t;

// Samples a second that the networks work with.
inline constexpr std::int64_t kModelRate = 22'050;

// Equal stamps: the file has not changed.
struct FileStamp {
  std::int64_t size = -1;       // bytes; -1: there is no such file
  std::int64_t changed_ns = 0;  // since 1970

  friend bool operator==(const FileStamp&, const FileStamp&) = default;
};

// What is known of one kept clip, with its own strings: how an index is made.
struct ClipRow {
  std::string id;     // unique in its corpus
  std::string audio;  // path of the file
  std::string text;
  std::string speaker = {};
  std::string language = "en";
  std::string manifest = {};  // the file that names it
  std::int64_t line = 0;      // in `manifest`, from 1; 0: it has no lines
  FileStamp stamp = {};       // of the audio file
  std::int64_t source_rate = kModelRate;
  std::int64_t source_frames = 0;  // samples of one channel at source_rate
  std::int64_t text_tokens = 0;    // with the language's tag, without [START] and [STOP]
};

// The same as an index shows it. The views are good as long as the index or corpus.
struct ClipView {
  std::string_view id;
  std::string_view audio;
  std::string_view text;
  std::string_view speaker;
  std::string_view language;
  std::string_view manifest;
  std::int64_t line = 0;
  FileStamp stamp = {};
  std::uint64_t identity = 0;  // of path, size and time of change: what caches know the clip by
  std::int64_t source_rate = 0;
  std::int64_t source_frames = 0;
  std::int64_t samples = 0;  // at kModelRate, resampled
  std::int64_t text_tokens = 0;
};

}  // namespace myxtts
