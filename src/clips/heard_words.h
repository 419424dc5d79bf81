// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "clips/recording.h"
#include "clips/speech.h"
#include "listen/transcriber.h"
#include "listen/word_times.h"

namespace myxtts {

// A stretch of a recording that the recogniser hears at once; seconds.
struct HeardStretch {
  double begin = 0;
  double end = 0;
};

// Speech packed into stretches of at most 28 s, cut at its longest pauses.
std::vector<HeardStretch> stretches_to_hear(const SoundCourse& course);

// What is said in one recording.
struct RecordingWords {
  std::string language = {};          // that most of it is in
  std::vector<TimedWord> words = {};  // seconds of the recording, in order
};

// Writes down what is said, stretch by stretch, and keeps each in a file of lines as it comes:
//
//   {"key": "of the recording, the model and the language"}
//   {"begin": 12.3, "language": "en", "words": [[" Hello", 12.4, 12.8, 0.97], ...]}
//   {"complete": true}
//
// so that another run goes on where this one was interrupted. A file with another key is begun
// anew, a last line that was cut off is done again. One thread at a time.
class WordKeeper {
 public:
  // `file` need not exist. Throws DataError when it cannot be read or written.
  WordKeeper(std::filesystem::path file, std::string key);

  // Whether the whole recording was heard already.
  bool is_complete() const { return is_complete_; }

  // What was heard, in order of time.
  RecordingWords words() const;

  // Hears those of all stretches of the recording that were not heard yet; `heard` is told the
  // seconds of each. Throws Interrupted.
  void hear(const Recording& recording, const std::vector<HeardStretch>& stretches,
            const Transcriber& transcriber, const TranscribeOptions& options,
            const std::function<void(double seconds)>& heard = {});

 private:
  struct Kept {
    double begin = 0;
    std::string language = {};
    std::vector<TimedWord> words = {};
  };

  void read();
  static Kept kept_of(const nlohmann::json& json);
  void append(const std::string& line) const;
  bool has(double begin) const;

  const std::filesystem::path file_;
  const std::string key_;
  std::vector<Kept> kept_;
  bool is_complete_ = false;
};

}  // namespace myxtts
