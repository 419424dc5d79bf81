// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/files.h"
#include "clips/clip_list.h"
#include "clips/clips_page.h"

namespace myxtts {

// Whose clips a corpus holds.
struct SpeakerRule {
  bool several = false;   // else the one who speaks most
  double likeness = 0.6;  // from which voices of two recordings are one; a cosine
};

// The folder that `myxtts clips` fills:
//
//   metadata.csv      id|text|text, as in LJ Speech
//   wavs/ID.wav       22,050 Hz, mono, 16 bits
//   speakers.csv      id|speaker, where voices are told apart
//   clips.json        every clip and every stretch that is in none, with times and reasons
//   clips.html        the same to look at, to listen to and to correct
//   corrections.json  what a person changed on that page; put there by the person
//   work/             what came of each recording, and the words that were heard: a later run
//                     goes on from here
//
// Each file appears whole or not at all. Throws DataError. One process at a time.
class CorpusFolder {
 public:
  // Makes the folder, which goes again with this where nothing was made in it. Throws DataError for
  // one that holds something else, or that another process fills.
  explicit CorpusFolder(std::filesystem::path folder);
  CorpusFolder(const CorpusFolder&) = delete;
  CorpusFolder& operator=(const CorpusFolder&) = delete;
  ~CorpusFolder();

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path wav(const std::string& clip) const;
  std::filesystem::path words(const std::string& recording) const;
  std::filesystem::path work() const { return path_ / "work"; }

  // Takes corrections from a file elsewhere; they are kept for this and later runs.
  void take_corrections(const std::filesystem::path& file) const;

  // What an earlier run made of a recording; nothing: nothing yet.
  std::optional<RecordingClips> made(const std::string& recording) const;
  void keep(const RecordingClips& made) const;
  // What earlier runs made of other recordings than these.
  std::vector<RecordingClips> others(const std::vector<std::string>& recordings) const;

  // What publish() did.
  struct Summary {
    std::int64_t clips = 0;
    double seconds = 0;
    std::int64_t to_check = 0;   // of the clips: listed for a listen
    std::int64_t corrected = 0;  // by corrections.json
    std::int64_t rejected = 0;
    std::vector<std::pair<std::string, double>> left_out = {};  // reasons and seconds, most first
  };

  // Writes everything but wavs/ and work/, and removes the sound of clips that are not listed.
  // corrections.json is obeyed: texts are replaced, what was rejected is left out.
  Summary publish(const std::vector<RecordingClips>& recordings, const SpeakerRule& rule,
                  ClipsPage page) const;

 private:
  std::filesystem::path path_;
  bool is_new_;  // the folder was not there
  OpenFile lock_;
};

}  // namespace myxtts
