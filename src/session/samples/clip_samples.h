// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "session/samples/sample_clips.h"
#include "session/samples/sample_maker.h"

namespace myxtts {

// For the stage dvae: the mel spectrogram of each clip, and below it what comes back of it from its
// codes.
class ReconstructedClips final : public SampleMaker {
 public:
  explicit ReconstructedClips(std::vector<SampleClip> clips) : clips_(std::move(clips)) {}
  void make(const OpenModel& model, const Take& take, const Wanted& wanted) override;

 private:
  const std::vector<SampleClip> clips_;
};

// For the stage decoder: each clip said again (CopySynthesis), with a picture of the recording
// above one of the copy.
class CopiedClips final : public SampleMaker {
 public:
  explicit CopiedClips(std::vector<SampleClip> clips) : clips_(std::move(clips)) {}
  void make(const OpenModel& model, const Take& take, const Wanted& wanted) override;

 private:
  const std::vector<SampleClip> clips_;
};

}  // namespace myxtts
