// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "clips/clip_text.h"

namespace myxtts {

// A clip as the page shows it.
struct PageClip {
  std::string name = {};       // wavs/NAME.wav below the page
  std::string recording = {};  // its file's name
  double begin = 0;            // seconds of the recording
  double end = 0;
  ClipText text = {};
  std::string speaker = {};   // empty: one speaker
  bool is_corrected = false;  // its text is a person's
};

// A stretch that is no clip.
struct PageLeftOut {
  std::string recording = {};
  double begin = 0;
  double end = 0;
  std::string reason = {};  // a sentence
  std::string text = {};    // what is said there, where it is known
};

// What clips.html shows of a corpus.
struct ClipsPage {
  std::string title = {};     // the corpus's name
  std::string language = {};  // code; decides the direction of texts
  ConfidenceLimits limits = {};
  std::vector<PageClip> clips = {};
  std::vector<PageLeftOut> left_out = {};
  std::vector<std::string> unread = {};  // passages of the text that are in no recording
};

// Writes the page as one file that asks no network: clips to play from wavs/ beside it, texts to
// correct in place, sorted by doubt; corrections.json to download (see corrections.h). The file
// appears whole. Throws DataError when it cannot be written.
void write_clips_page(const std::filesystem::path& file, const ClipsPage& page);

}  // namespace myxtts
