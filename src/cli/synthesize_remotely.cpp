// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/error.h"
#include "base/interruption.h"
#include "base/log.h"
#include "base/progress.h"
#include "cli/synthesize.h"
#include "serve/remote_speech.h"
#include "synth/sound_writer.h"

namespace myxtts {
namespace {

namespace fs = std::filesystem;

// One job by a running server, which cuts long texts itself. Gives the samples that came; false:
// interrupted.
class RemoteJob {
 public:
  RemoteJob(const SpeakingFlags& flags, const SpeakingJob& job, const Interruption& interruption,
            Progress& progress)
      : flags_(flags), job_(job), interruption_(interruption), progress_(progress) {}

  bool speak(const std::string& key, SpeechOrder order) {
    for (std::size_t piece = 0; piece < job_.pieces.size(); ++piece) {
      order.text = job_.pieces[piece].text;
      if (piece > 0) write(std::vector<float>(static_cast<std::size_t>(rate_ * kPauseMs / 1000)));
      const bool is_whole = speak_remotely(
          flags_.server, key, order, [this](std::span<const float> samples, std::int64_t rate) {
            rate_ = rate;
            write(samples);
            return !interruption_.came();
          });
      if (!is_whole) break;
    }
    const bool keeps = !interruption_.came() || flags_.stream;
    if (writer_ && keeps) writer_->finish();
    return !interruption_.came();
  }

  double seconds() const { return static_cast<double>(samples_) / static_cast<double>(rate_); }

 private:
  void write(std::span<const float> samples) {
    if (!writer_) {
      writer_ =
          open_sound_writer(job_.out, rate_, flags_.stream ? Appears::Growing : Appears::Whole);
    }
    writer_->write(samples);
    samples_ += std::ssize(samples);
    progress_.set_note({.first = {fmt::format("{:.1f} s of sound", seconds())}});
    progress_.advance(0);  // a long text is one of few, and its sound shows that it goes on
  }

  const SpeakingFlags& flags_;
  const SpeakingJob& job_;
  const Interruption& interruption_;
  Progress& progress_;
  std::unique_ptr<SoundWriter> writer_;
  std::int64_t rate_ = 1;
  std::int64_t samples_ = 0;
};

}  // namespace

int synthesize_remotely(const SpeakingFlags& flags) {
  const auto jobs = jobs_of(flags, [](const std::string& text, const std::string&) {
    const bool is_blank = text.find_first_not_of(" \t\r") == std::string::npos;
    return is_blank ? TextPieces() : TextPieces{.pieces = {{.text = text, .ids = {}}}};
  });
  const char* given = std::getenv(kServerKey);
  const std::string key = given == nullptr ? "" : given;
  const SpeechOrder order{.text = {},
                          .voice = flags.speaker,
                          .model = flags.model.string(),
                          .language = flags.language,
                          .speed = flags.speed,
                          .sampling = flags.sampling};
  if (goes_into_folder(flags)) fs::create_directories(flags.out);
  const Interruption interruption;
  const auto began = std::chrono::steady_clock::now();
  double seconds = 0;
  {
    Progress progress({.title = "Speaking (texts)", .total = jobs.size(), .at_once = true});
    for (const SpeakingJob& job : jobs) {
      RemoteJob remote(flags, job, interruption, progress);
      const bool is_whole = remote.speak(key, order);
      seconds += remote.seconds();
      if (!is_whole) return kExitBySignal + interruption.signal();
      progress.advance();
    }
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  log_info("synthesize", "{}: {:.2f} s of speech in {:.2f} s by {}.",
           jobs.size() == 1 ? jobs.front().out.string() : flags.out.string(), seconds, took.count(),
           flags.server);
  return flags.play ? play(jobs, interruption) : 0;
}

}  // namespace myxtts
