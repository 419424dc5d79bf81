// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "data/batches/batch_plan.h"

namespace myxtts {

// What one step did, as the device reports it later.
struct StepNumbers {
  std::int64_t step = 0;            // counts from 1
  std::vector<double> losses = {};  // as PartTraining::loss_names() calls them; means over the step
  double loss = 0;                  // what was trained
  double gradient_norm = 0;         // before clipping
  bool skipped = false;             // loss or gradient was not finite: nothing was changed
  double loss_scale = 1;            // of fp16
};

// One step as the trainer reports it, once the device has finished it.
struct StepReport {
  StepNumbers numbers = {};
  DataPosition position = {};          // of its first batch
  std::int64_t batches = 1;            // that it was made of
  std::vector<ClipNumber> clips = {};  // of all its batches
  double audio_seconds = 0;            // of all its clips
  double learning_rate = 0;
  bool spike = false;  // its loss is far above the running mean
};

struct EvaluationReport {
  std::int64_t step = 0;
  std::vector<double> losses = {};  // means over the validation clips, as loss_names() calls them
  double loss = 0;                  // what training weighs them to
  std::int64_t clips = 0;
  double seconds = 0;  // that it took
  bool best = false;   // of the run so far
};

// Watches a training run: the progress bar, metrics.jsonl, TensorBoard, spoken test sentences.
// Called by the trainer's thread between steps; whatever takes long belongs in a thread of its own.
class TrainingObserver {
 public:
  virtual ~TrainingObserver() = default;
  virtual void stepped(const StepReport& report) = 0;
  virtual void evaluated(const EvaluationReport& report) = 0;
};

}  // namespace myxtts
