// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/bounded_queue.h"
#include "base/thread_group.h"
#include "data/corpus.h"
#include "session/starting_model.h"
#include "synth/text_pieces.h"
#include "train/observer.h"
#include "train/stage_training.h"

namespace myxtts {

// What is spoken, and by whom.
struct SampleSettings {
  std::filesystem::path sentences = {};  // a file, one sentence a line
  std::filesystem::path run = {};        // RUN/samples/step-NNNNNNN/01.wav ... are written
  std::string language = "en";
};

// Speaks the sentences of --test-sentences with the weights of every measurement, in the voice of a
// validation clip (of a training clip where there is none), on the CPU and in a thread of its own
// while training goes on. A measurement that comes while it still speaks is left out, and that is
// said.
//
// The trainer's thread calls it. Training, corpus and starting model outlive it.
class SampleSpeaker final : public TrainingObserver {
 public:
  // Throws DataError when the file cannot be read or is empty.
  SampleSpeaker(const SampleSettings& settings, StageTraining& training, const StartingModel& start,
                const Corpus& corpus);
  ~SampleSpeaker() override;  // waits for what is being spoken, or for its end after stop()

  void stepped(const StepReport&) override {}
  void evaluated(const EvaluationReport& report) override;

  // Whatever is being spoken ends at its next code and leaves no file.
  void stop();

 private:
  struct Job {
    std::int64_t step = 0;
    NamedTensors weights = {};  // what is trained of model.safetensors, on the CPU
  };

  void work();
  void speak(const Job& job);

  const SampleSettings settings_;
  StageTraining& training_;
  const StartingModel& start_;
  const std::filesystem::path reference_;
  const std::vector<std::vector<TextPiece>> sentences_;  // each in pieces
  std::atomic<bool> stopped_ = false;
  std::atomic<bool> busy_ = false;
  BoundedQueue<Job> jobs_;
  ThreadGroup threads_;  // last: it uses everything above
};

}  // namespace myxtts
