// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "config/model.h"
#include "config/run_config.h"

namespace myxtts {

// How large a batch is, for estimates.
struct BatchShape {
  std::int64_t clips = 0;
  std::int64_t tokens = 0;         // of all packed rows
  std::int64_t text_targets = 0;   // of all rows
  std::int64_t audio_targets = 0;  // of all rows
  std::int64_t samples = 0;        // of all clips, at 22,050 Hz
  // What rows are laid side by side in, where they are; 0: as many as clips, of their mean length.
  std::int64_t segments = 0;
  std::int64_t longest = 0;  // tokens

  friend bool operator==(const BatchShape&, const BatchShape&) = default;
};

// Clips of 10 s with 120 text tokens: what speech corpora are like, where nothing is known of this
// one.
BatchShape usual_batch(const GptConfig& gpt, std::int64_t clips);

// Where the bytes of a training step are, by estimate: counted from the shapes of what a forward
// pass keeps for the backward pass, not measured. Note [Memory of a step] lists the terms.
struct TrainingMemory {
  std::int64_t weights = 0;       // fp32, and a copy in the arithmetic of the step
  std::int64_t gradients = 0;     // in that arithmetic; also sums in fp32 of several batches
  std::int64_t moments = 0;       // two of AdamW
  std::int64_t layers = 0;        // activations of the GPT's layers
  std::int64_t conditioning = 0;  // activations of the conditioning encoder and the perceiver
  std::int64_t guide = 0;         // what the text guide keeps of its heads
  std::int64_t heads = 0;  // last norms, logits of both heads and what the loss makes of them
  std::int64_t slack = 0;  // work spaces of libraries, gaps of the allocator

  std::int64_t total() const {
    return weights + gradients + moments + layers + conditioning + guide + heads + slack;
  }
};

// How a step is computed.
struct StepKind {
  Precision precision = Precision::Fp32;  // never Auto
  bool cpu = false;  // attention keeps its probabilities there: its dropout is not fused
  MemorySavers savers = {};
  std::int64_t batches_a_step = 1;
  bool guided = false;  // Note [Text guide]
};

TrainingMemory training_memory(const ModelConfig& model, const BatchShape& batch,
                               const StepKind& kind);

// What making batches takes on the data device: the frozen DVAE, one row of clips at work, and the
// batch's own sound. By estimate.
std::int64_t feature_memory(const ModelConfig& model, const BatchShape& batch);

// What a batch takes in a slot of the transfer ring.
std::int64_t slot_memory(const ModelConfig& model, const BatchShape& batch);

}  // namespace myxtts
