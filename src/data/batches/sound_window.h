// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string_view>

#include "config/model.h"
#include "config/run_config.h"
#include "model/gpt_rows.h"

namespace myxtts {

// What is drawn at random for one visit of a clip depends on this alone.
struct VisitDraw {
  std::uint64_t seed = 0;
  std::int64_t epoch = 0;
  std::string_view clip_id;
  std::uint32_t repeat = 0;  // PlannedBatch::repeats

  std::uint64_t key() const;  // of seed, epoch and clip
};

// Note [Where a prompt is cut]
// Here the span is chosen. FeatureStage::make_prompts (pipeline/feature_stage.cpp) cuts it from the
// sound on the data device; of a clip whose codes are cached the collator reads that span alone.

// Where a clip of `samples` at 22,050 Hz gets its prompt from: 3 to 6 s of it, or half of a clip
// that is shorter than that, from anywhere. A function of its arguments alone.
PromptSpan training_prompt(const VisitDraw& draw, std::int64_t samples);

// The first 4.5 s, or half of a shorter clip.
PromptSpan evaluation_prompt(std::int64_t samples);

// How many samples at 22,050 Hz a clip begins later on this visit, less than a code: the same sound
// in other codes, so that a small corpus is not learnt by heart. A function of its arguments alone.
std::int64_t training_shift(const VisitDraw& draw);

// By their places among a clip's codes: the codes that are read there in place of its own.
using ReplacedCodes = std::map<std::int64_t, std::int64_t>;

// Which of a clip's `count` codes are read as which of `codes` others on this visit, about `share`
// of them. A function of its arguments alone.
ReplacedCodes training_noise(const VisitDraw& draw, double share, std::int64_t count,
                             std::int64_t codes);

// What every prompt is padded to.
inline constexpr std::int64_t kLongestPrompt = 132'300;

// What the windows of a part hold.
struct WindowContent {
  ModelPart part = ModelPart::Gpt;
  bool as_mel = false;         // mel spectrograms; else sound
  bool of_recording = false;   // sound of the recording itself; else of the clip at 22,050 Hz
  bool with_voices = false;    // and the codes and speaker vectors of their clips
  bool with_speakers = false;  // and the numbers of their speakers
};
const WindowContent& windows_of(ModelPart part);  // of none where it takes no windows

// What parts that train on sound cut out of each clip: windows of one length, each beginning at a
// multiple of `unit` samples.
//
//   dvae     units are mel frames, of 256 samples at 22,050 Hz
//   decoder  units are the decoder's frames, of 256 samples at 24,000 Hz
//   speaker  units are samples at 16,000 Hz
struct WindowPlan {
  ModelPart part = ModelPart::Gpt;  // which takes no windows
  std::int64_t slots = 0;           // clips of a batch, at most
  std::int64_t per_clip = 0;
  std::int64_t length = 0;  // units
  std::int64_t unit = 1;    // samples
  std::int64_t rate = 0;    // samples a second

  bool empty() const { return !facts_of(part).on_windows; }
  const WindowContent& content() const { return windows_of(part); }
  std::int64_t count() const { return slots * per_clip; }  // of a batch
  std::int64_t samples() const { return length * unit; }   // of a window
};

// As the settings ask for them, or with what suits the part.
WindowPlan plan_windows(const TrainConfig& train, const ModelConfig& model, std::int64_t slots);

// How many units a clip of `samples` at 22,050 Hz and `codes` codes has.
std::int64_t units_of(const WindowPlan& plan, std::int64_t samples, std::int64_t codes);

// Where a clip's window of that number begins, which may begin anywhere from 0 to `last`. A
// function of its arguments alone.
std::int64_t training_window(const VisitDraw& draw, std::int64_t window, std::int64_t last);

// The middle of its share, where `count` windows share a clip.
std::int64_t evaluation_window(std::int64_t window, std::int64_t count, std::int64_t last);

}  // namespace myxtts
