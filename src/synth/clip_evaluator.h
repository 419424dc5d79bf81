// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include "audio/mel_spectrogram.h"
#include "model/dvae.h"
#include "model/gpt.h"
#include "run/open_model.h"

namespace myxtts {

// The teacher-forced losses of one clip, each the mean over its own targets.
struct ClipScore {
  double text = 0.0;   // nats, not weighted
  double audio = 0.0;  // nats
  std::int64_t text_targets = 0;
  std::int64_t audio_targets = 0;
};

// Losses of many clips: over all their tokens, and as the unweighted mean over clips, which is what
// coqui-tts reports when it evaluates one clip at a time.
class ScoreSum {
 public:
  void add(const ClipScore& score);

  std::int64_t clips() const { return clips_; }
  ClipScore over_tokens() const;  // all zero when there is no clip
  ClipScore over_clips() const;

 private:
  std::int64_t clips_ = 0;
  std::int64_t text_targets_ = 0;
  std::int64_t audio_targets_ = 0;
  double text_total_ = 0.0;  // over tokens
  double audio_total_ = 0.0;
  double text_means_ = 0.0;  // over clips
  double audio_means_ = 0.0;
};

// Measures how well a model predicts the texts and codes of recorded clips, as the peer's
// evaluation does: nothing masked, no dropout, everything in fp32, each clip alone.
class ClipEvaluator {
 public:
  // Copies the weights it needs to `device`; on the CPU it shares them.
  ClipEvaluator(const OpenModel& model, c10::Device device);

  // `samples` [S] fp32 at sample_rate(), on the CPU; `text` with the language's tag, without start
  // and stop. Waits for the device.
  ClipScore operator()(const at::Tensor& samples, PromptSpan prompt,
                       std::span<const std::int64_t> text) const;

  std::int64_t sample_rate() const { return sample_rate_; }

 private:
  at::Tensor codes(const at::Tensor& samples) const;                          // [n]
  at::Tensor prompt_mel(const at::Tensor& samples, PromptSpan prompt) const;  // [1, bands, F]

  GptConfig config_;
  std::int64_t sample_rate_;
  c10::Device device_;
  at::Tensor mel_stats_;  // [bands]
  Dvae dvae_;
  Gpt gpt_;
  MelSpectrogram dvae_mel_;
  MelSpectrogram prompt_mel_;
};

}  // namespace myxtts
