// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace myxtts {

// What stands on the screen for a while; seconds of the recording.
struct Subtitle {
  double begin = 0;
  double end = 0;
  std::string text = {};  // in one line, without tags and styles; valid UTF-8
  std::int64_t line = 0;  // of the file, of its times; from 1
};

struct Subtitles {
  std::vector<Subtitle> cues = {};        // by their begins, with text, each longer than nothing
  std::vector<std::string> skipped = {};  // "line 7: It has nothing that is spoken."
};

// SubRip (.srt) or WebVTT (.vtt), by what stands in it: either with a byte-order mark, any line
// ends, tags, styles and notes; numbers may be missing, and SubRip's times may have dots. Those
// that end before they begin or have nothing to read are skipped; of those that overlap both stay.
// `subject` opens messages. Throws DataError with the line where it is neither.
Subtitles parse_subtitles(std::string_view bytes, const std::string& subject);

// The same of a file of at most 64 MB.
Subtitles read_subtitles(const std::filesystem::path& file);

// All of them as one text, a line each: what is heard can be laid along it as along a book's.
std::string text_of(const Subtitles& subtitles);

}  // namespace myxtts
