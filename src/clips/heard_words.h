// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "clips/cuts.h"
#include "clips/recording.h"
#include "listen/transcriber.h"
#include "listen/word_times.h"

namespace myxtts {

// Speech packed into stretches of at most 28 s, cut at its longest pauses.
std::vector<Stretch> stretches_to_hear(const SoundCourse& course);

// What is said in a recording, or in a stretch of it.
struct RecordingWords {
  std::string language = {};          // of most of it
  std::vector<TimedWord> words = {};  // seconds of the recording, in order
};

// Writes down what is said, stretch by stretch, and keeps each in a file of lines as it comes:
//
//   {"key": "of the recording, the model and the language"}
//   {"begin": 12.3, "language": "en", "words": [[" Hello", 12.4, 12.8, 0.97], ...]}
//   {"complete": true}
//
// so that another run goes on where this one was interrupted, and ends with the same file. A file
// with another key is begun anew, a batch that is not whole is done again. One thread at a time.
class WordKeeper {
 public:
  // `file` need not exist. Throws DataError when it cannot be read or written.
  WordKeeper(std::filesystem::path file, std::string key);

  // Whether the whole recording was heard already.
  bool is_complete() const { return is_complete_; }

  // What was heard, in order of time.
  RecordingWords words() const;

  // Hears those of all stretches of the recording that were not heard yet; `heard` is told the
  // seconds of each. Warns where a language is given and most of what it hears first is another.
  // Throws Interrupted.
  void hear(const Recording& recording, const std::vector<Stretch>& stretches,
            const Transcriber& transcriber, const TranscribeOptions& options,
            const std::function<void(double seconds)>& heard = {});

 private:
  void read();
  std::string head() const;
  void append(const std::string& lines) const;
  void forget(std::span<const Stretch> batch);
  void hear_batch(const Recording& recording, std::span<const Stretch> batch,
                  const Transcriber& transcriber, const TranscribeOptions& options);

  const std::filesystem::path file_;
  const std::string key_;
  std::map<double, RecordingWords> kept_;  // of each stretch, by its begin
  bool is_complete_ = false;
};

}  // namespace myxtts
