// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace myxtts {

// How a model is fine-tuned to a voice.
struct VoiceRecipe {
  std::int64_t batch_size = 16;
  std::int64_t epochs = 20;
  double learning_rate = 1e-5;
  double val_fraction = 0.05;

  std::int64_t steps(std::int64_t clips) const;
};

// By what there is to learn from. Little speech is gone through more often and in smaller batches,
// so that there are steps enough to learn the voice and none to learn the clips by heart: training
// ends early where validation grows. On the CPU batches are small, for its memory's sake.
VoiceRecipe recipe_for(double minutes, std::int64_t clips, bool has_gpu);

// What a command will take, in seconds; guesses by a factor of two or three.
struct VoiceMachine {
  bool has_gpu = false;
  int cores = 1;  // that the processor computes with
};
double hearing_seconds(double recorded_seconds, const VoiceMachine& machine);
// `weights` of the GPT, in all steps of the recipe.
double training_seconds(const VoiceRecipe& recipe, std::int64_t clips, double speech_seconds,
                        std::int64_t weights, const VoiceMachine& machine);

}  // namespace myxtts
