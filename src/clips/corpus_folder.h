// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/files.h"
#include "clips/clip_list.h"

namespace myxtts {

// Whose clips a corpus holds.
struct SpeakerRule {
  bool several = false;   // else the one who speaks most
  double likeness = 0.6;  // from which voices of two recordings are one; a cosine
};

// What the files of a corpus say: its clips and what is in none of them.
struct ClipCorpus {
  std::string title = {};                            // the corpus's name
  std::string language = {};                         // code; decides the direction of texts
  double min_confidence = 0;                         // of the clips' texts
  std::vector<RecordingClips> recordings = {};       // once speakers and corrections are obeyed
  std::map<std::string, std::string> speakers = {};  // of clips, where there are several
  std::set<std::string> corrected = {};              // clips whose text is a person's
  std::vector<std::string> unread = {};  // passages of the text that are in no recording
};

// Writes clips.html as one file that asks no network: clips to play from wavs/ beside it, texts to
// correct in place, sorted by doubt; corrections.json to download. The file appears whole. Throws
// DataError when it cannot be written.
void write_clips_page(const std::filesystem::path& file, const ClipCorpus& corpus);

// What a person said of a clip on the page.
struct Correction {
  std::string clip = {};                 // its name, without .wav
  std::optional<std::string> text = {};  // nothing: as it was
  std::string was = {};                  // the text that it replaces, where there is one
  std::optional<bool> accepted = {};     // false: left out; nothing: no word on it
};

// What clips.html saves as corrections.json:
//
//   {"format": "myxtts-corrections", "version": 1,
//    "clips": [{"clip": "a-0001", "was": "teh", "text": "the", "accepted": true}]}
//
// Each clip at most once. Throws DataError for anything else; `subject` opens the message.
std::vector<Correction> parse_corrections(std::string_view json, const std::string& subject);

// The reverse.
std::string to_json(const std::vector<Correction>& corrections);

// What `newer` says of a clip counts, and what only `older` says stays. By the clips' names.
std::vector<Correction> merged(const std::vector<Correction>& older,
                               const std::vector<Correction>& newer);

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

  // Writes everything but wavs/ and work/ of a corpus whose recordings are as they were cut, and
  // removes the sound of clips that none of them has. The rule of speakers is applied, and
  // corrections.json: texts are replaced, what was rejected is left out.
  Summary publish(ClipCorpus corpus, const SpeakerRule& rule) const;

 private:
  std::vector<Correction> corrections() const;

  std::filesystem::path path_;
  bool is_new_;  // the folder was not there
  OpenFile lock_;
};

}  // namespace myxtts
