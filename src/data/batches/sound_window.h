// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "config/model.h"
#include "config/run_config.h"
#include "data/batches/prompt_slice.h"

namespace myxtts {

// What stages that train on sound cut out of each clip: windows of one length, each beginning at a
// multiple of `unit` samples.
//
//   dvae     units are mel frames, of 256 samples at 22,050 Hz
//   decoder  units are the decoder's frames, of 256 samples at 24,000 Hz
//   speaker  units are samples at 16,000 Hz
struct WindowPlan {
  ModelPart stage = ModelPart::Gpt;  // which takes no windows
  std::int64_t slots = 0;            // clips of a batch, at most
  std::int64_t per_clip = 0;
  std::int64_t length = 0;  // units
  std::int64_t unit = 1;    // samples
  std::int64_t rate = 0;    // samples a second

  bool empty() const { return !facts_of(stage).on_windows; }
  std::int64_t count() const { return slots * per_clip; }  // of a batch
  std::int64_t samples() const { return length * unit; }   // of a window
};

// As the settings ask for them, or with what suits the stage.
WindowPlan plan_windows(const TrainConfig& train, const ModelConfig& model, std::int64_t slots);

// How many units a clip of `samples` at 22,050 Hz and `codes` codes has.
std::int64_t units_of(const WindowPlan& plan, std::int64_t samples, std::int64_t codes);

// Where a clip's window of that number begins, which may begin anywhere from 0 to `last`. A
// function of its arguments alone.
std::int64_t training_window(const VisitDraw& draw, std::int64_t window, std::int64_t last);

// The middle of its share, where `count` windows share a clip.
std::int64_t evaluation_window(std::int64_t window, std::int64_t count, std::int64_t last);

}  // namespace myxtts
