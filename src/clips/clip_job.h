// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "clips/clip_maker.h"
#include "clips/corpus_folder.h"
#include "clips/heard_words.h"
#include "clips/text_alignment.h"

namespace myxtts {

// Where the texts of clips come from: a text that was read aloud, subtitles, or the recogniser
// alone.
struct ClipTexts {
  std::filesystem::path book = {};                    // empty: none
  std::vector<std::filesystem::path> subtitles = {};  // one for each recording; empty: none
  std::string language = {};                          // empty: heard
};

// The networks of a job. They outlive it; null where there is none.
struct ClipNetworks {
  const VoiceActivity* activity = nullptr;  // never null
  const Transcriber* recogniser = nullptr;
  std::string recogniser_is = {};  // which model it is, for later runs
  TranscribeOptions hearing = {};
  const VoiceListener* voices = nullptr;
  std::string voices_are_of = {};  // which model's they are
};

// Cuts recordings into the clips of a corpus, in three passes: all are heard, the texts are laid
// along what was heard, and all are cut. What an earlier run did of the same recordings with the
// same settings is not done again. One thread.
class ClipJob {
 public:
  // Throws ConfigError where two recordings would have the same name.
  ClipJob(std::vector<std::filesystem::path> recordings, ClipTexts texts, ClipSettings settings,
          ClipNetworks networks, const CorpusFolder& folder);

  // A recording that cannot be used is said and left out. Throws DataError where none can, or the
  // disk is full; Interrupted.
  CorpusFolder::Summary run();

  // How many recordings could not be used.
  std::size_t failed() const;
  // How many the last run() found done.
  std::size_t found_done() const { return found_done_; }
  // How long the recordings are, and how long somebody speaks in them.
  double seconds() const;
  double speech_seconds() const;

 private:
  // A recording, and how far it is.
  struct Source {
    std::filesystem::path file;
    std::string name;                      // in the corpus
    std::filesystem::path subtitles = {};  // empty: none
    std::string identity = {};             // changes when the file does
    bool is_done = false;                  // by an earlier run, or nothing can come of it
    RecordingClips made = {};
    RecordingWords words = {};  // where there is a recogniser
    // Of the book one for all, of subtitles one for each; null: the words are the text.
    std::shared_ptr<const TextAlignment> alignment = nullptr;
  };

  void look_at_files();
  void look_at(Source& source) const;
  void give_up(Source& source, const std::string& why) const;
  std::string settings_now() const;
  void say_what_changed() const;
  std::string made_from(const Source& source) const;
  const Recording* open(Source& source);
  void hear_all();
  void hear(Source& source);
  void lay_texts();
  void lay_book();
  std::vector<std::string> unread() const;
  SpokenText spoken_text(const Source& source, double seconds) const;
  SpokenText spoken_subtitles(const Source& source, double seconds) const;
  void cut(Source& source);

  const ClipTexts texts_;
  const ClipSettings settings_;
  const ClipNetworks networks_;
  const CorpusFolder& folder_;
  std::vector<Source> sources_;
  std::string settings_text_;  // JSON
  std::size_t found_done_ = 0;
  std::optional<Recording> opened_;  // that was opened last
  const Source* opened_source_ = nullptr;
};

}  // namespace myxtts
