// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/interruption.h"
#include "base/progress.h"
#include "synth/sound_writer.h"
#include "synth/synthesizer.h"

namespace myxtts {

inline constexpr std::int64_t kPauseMs = 400;  // between texts that are joined

// A text with its pieces and the file it goes to.
struct SpeakingJob {
  std::string name;  // for messages: "line 3", or nothing
  std::filesystem::path out;
  std::vector<TextPiece> pieces;
  // Where several texts are joined into one file: the last piece of each, after which a pause
  // comes.
  std::vector<std::size_t> ends = {};
  std::int64_t pause_ms = 0;  // silence after the last piece
};

// Speaks jobs into their files, and counts codes and samples. One thread; what it is made of
// outlives it.
class Speaking {
 public:
  Speaking(Synthesizer& synthesizer, const Voices& voices, const SpeakSettings& settings,
           const Interruption& interruption);

  // All pieces of all jobs, `batch` at a time; each file appears as soon as it was spoken to its
  // end, whatever is still spoken beside it.
  // False: interrupted. Files that were whole stay, and of joined texts those that were spoken.
  bool speak(const std::vector<SpeakingJob>& jobs, std::int64_t batch);

  // One job, piece after piece, into a file that grows. False: interrupted, with a valid file of
  // what was made.
  bool stream(const SpeakingJob& job, std::int64_t chunk_codes);

  // Keeps what --dump writes from now on.
  void keep_everything() { keeps_ = true; }
  bool kept_any() const { return !kept_.empty(); }
  // What was kept, of which there must be something.
  void write_dump(const std::filesystem::path& path, const std::vector<SpeakingJob>& jobs) const;

  // "a-0001.wav to a-0040.wav (40 files): 3.42 s of speech in 1.10 s (real-time factor 0.32), ...":
  // the files that are there now. Ends the speaking.
  std::string summary();

 private:
  using Clock = std::chrono::steady_clock;

  void write(SoundWriter& writer, std::span<float> samples);
  void pause(SoundWriter& writer, std::int64_t ms);
  void finish(SoundWriter& writer, const SpeakingJob& job);
  void end_piece(const SpeakingJob& job, std::size_t piece, SoundWriter& writer);
  void show_how_far();
  std::string files() const;
  void add_piece(const SpeakingJob& job, std::size_t piece, SpokenPiece& spoken,
                 SoundWriter& writer);
  void judge(const SpeakingJob& job, std::size_t piece, const SpokenPiece& spoken) const;

  Synthesizer& synthesizer_;
  const Voices& voices_;
  SpeakSettings settings_;
  const Interruption& interruption_;
  std::optional<Progress> progress_;  // until all is spoken
  Clock::time_point begin_ = Clock::now();
  std::optional<double> first_sound_;  // seconds
  std::int64_t samples_ = 0;
  std::int64_t codes_ = 0;
  std::size_t texts_ = 0;  // that are to be spoken
  std::size_t texts_done_ = 0;
  std::size_t pieces_ = 0;  // of these texts
  std::size_t pieces_done_ = 0;
  std::set<std::filesystem::path> written_;
  bool keeps_ = false;
  std::map<std::size_t, SpokenPiece> kept_;  // by its place among the pieces of all jobs
};

}  // namespace myxtts
