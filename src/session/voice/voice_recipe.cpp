// SPDX-License-Identifier: Apache-2.0
#include "session/voice/voice_recipe.h"

#include <algorithm>
#include <cmath>

namespace myxtts {
namespace {

constexpr std::int64_t kClipsOfBatch = 8;  // a corpus has at least so many batches
constexpr std::int64_t kLargestOnGpu = 16;
constexpr std::int64_t kLargestOnCpu = 4;
constexpr std::int64_t kFewestValidated = 4;  // clips
constexpr double kUsualFraction = 0.05;
constexpr double kLargestFraction = 0.2;

// Tokens of text and codes of a second of speech, and those of each clip's prompt.
constexpr double kTokensOfSecond = 28;
constexpr double kTokensOfPrompt = 32;
// Forward and backward: operations of each weight for each token.
constexpr double kOperations = 6;
constexpr double kOperationsOfGpu = 1.5e14;  // a second, as measured in bf16
constexpr double kOperationsOfCore = 1.5e10;
// Seconds of a recording that are heard in a second with Whisper base.
constexpr double kHeardByGpu = 60;
constexpr double kHeardByCore = 1.2;

}  // namespace

std::int64_t VoiceRecipe::steps(std::int64_t clips) const {
  const double trained = static_cast<double>(clips) * (1 - val_fraction);
  const double batches = std::max(1.0, std::floor(trained / static_cast<double>(batch_size)));
  return epochs * static_cast<std::int64_t>(batches);
}

VoiceRecipe recipe_for(double minutes, std::int64_t clips, bool has_gpu) {
  const std::int64_t largest = has_gpu ? kLargestOnGpu : kLargestOnCpu;
  const auto validated =
      static_cast<double>(kFewestValidated) / static_cast<double>(std::max<std::int64_t>(1, clips));
  VoiceRecipe recipe{.batch_size = std::clamp<std::int64_t>(clips / kClipsOfBatch, 1, largest),
                     .val_fraction = std::clamp(validated, kUsualFraction, kLargestFraction)};
  if (minutes < 10) {
    recipe.epochs = 40;
  } else if (minutes < 30) {
    recipe.epochs = 30;
  } else if (minutes < 90) {
    recipe.epochs = 20;
  } else if (minutes < 300) {
    recipe.epochs = 10;
  } else {
    recipe.epochs = 5;
  }
  return recipe;
}

double hearing_seconds(double recorded_seconds, const VoiceMachine& machine) {
  const double rate = machine.has_gpu ? kHeardByGpu : kHeardByCore * machine.cores;
  return recorded_seconds / rate;
}

double training_seconds(const VoiceRecipe& recipe, std::int64_t clips, double speech_seconds,
                        std::int64_t weights, const VoiceMachine& machine) {
  const double tokens =
      speech_seconds * kTokensOfSecond + static_cast<double>(clips) * kTokensOfPrompt;
  const double all =
      tokens * static_cast<double>(recipe.epochs) * kOperations * static_cast<double>(weights);
  return all / (machine.has_gpu ? kOperationsOfGpu : kOperationsOfCore * machine.cores);
}

}  // namespace myxtts
