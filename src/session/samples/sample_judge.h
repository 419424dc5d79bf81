// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "config/run_config.h"
#include "listen/transcriber.h"
#include "run/open_model.h"
#include "session/samples/part_samples.h"

namespace myxtts {

// What was heard in the samples of one step.
struct SampleVerdict {
  std::int64_t step = 0;
  std::int64_t samples = 0;
  double cer = 0;         // character errors of all of them: letters heard wrong for each letter
  double similarity = 0;  // mean cosine of the speaker vectors of sample and recording
};

// A sample, and beside it the recording that its voice is from.
struct SamplePair {
  Sample sample;
  Sample recording;
};

// What was heard in one of them.
struct HeardSample {
  std::string text = {};
  double cer = 0;
  double similarity = 0;
};

// Listens to samples: a Whisper model writes down what is said in them, and the speaker encoder of
// the model that spoke compares their voices with those of the recordings. On the CPU, one thread
// at a time.
class SampleJudge {
 public:
  // `whisper` as open_whisper() takes it. Throws DataError.
  explicit SampleJudge(const std::filesystem::path& whisper);

  // `heard` is given what was heard in each sample. Once `wanted` says no, it ends within about a
  // second with a verdict that says nothing.
  SampleVerdict operator()(
      const std::vector<SamplePair>& pairs, const OpenModel& model,
      const std::function<bool()>& wanted,
      const std::function<void(const SamplePair&, const HeardSample&)>& heard) const;

 private:
  Transcriber transcriber_;
};

// Before anything is written: throws DataError or ConfigError where --judge names no Whisper that
// can listen to the run's language. Without --judge nothing is looked at.
void check_judge(const RunConfig& config);

// The same as a sentence; empty: it can.
std::string fault_of_judge(const RunConfig& config);

}  // namespace myxtts
