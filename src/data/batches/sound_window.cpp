// SPDX-License-Identifier: Apache-2.0
#include "data/batches/sound_window.h"

#include <algorithm>
#include <cmath>

#include "audio/phase_filter.h"
#include "base/random.h"
#include "config/model.h"
#include "data/clip.h"

namespace myxtts {
namespace {

constexpr std::int64_t kCodeFrames = 4;
constexpr std::int64_t kCodeSamples = 1024;      // at kModelRate
constexpr std::uint64_t kMostWindows = 1 << 16;  // of a clip

double ratio(std::int64_t a, std::int64_t b) {
  return static_cast<double>(a) / static_cast<double>(b);
}

std::int64_t stretched(std::int64_t count, double scale) {
  return static_cast<std::int64_t>(std::floor(static_cast<double>(count) * scale));
}

}  // namespace

WindowPlan plan_windows(const TrainConfig& train, const ModelConfig& model, std::int64_t slots) {
  WindowPlan plan{.stage = train.stage, .slots = slots, .per_clip = 4};
  double seconds = 0;
  std::int64_t multiple = 1;  // units that a length is a multiple of
  switch (train.stage) {
    case ModelPart::Dvae:
      plan.unit = dvae_mel_config().hop;
      plan.rate = kModelRate;
      seconds = 1.5;
      multiple = kCodeFrames;
      break;
    case ModelPart::Decoder: {
      constexpr double kFrames = 32;
      plan.unit = model.decoder.output_hop;
      plan.rate = model.decoder.output_sample_rate;
      seconds = kFrames * static_cast<double>(plan.unit) / static_cast<double>(plan.rate);
      break;
    }
    case ModelPart::Speaker:
      plan.per_clip = 2;
      plan.rate = model.speaker_encoder.sample_rate;
      seconds = 2.0;
      break;
    case ModelPart::Gpt:
      return {};
  }
  const double units = train.window.value_or(seconds) * ratio(plan.rate, plan.unit);
  const auto multiples = std::llround(units / static_cast<double>(multiple));
  plan.per_clip = train.windows_per_clip.value_or(plan.per_clip);
  plan.length = std::max<std::int64_t>(multiples, 1) * multiple;
  return plan;
}

std::int64_t units_of(const WindowPlan& plan, std::int64_t samples, std::int64_t codes) {
  switch (plan.stage) {
    case ModelPart::Dvae:
      return samples / plan.unit + 1;
    case ModelPart::Decoder:  // as Decoder::frames() stretches latents, first to the hop, then to
                              // rate
      return stretched(stretched(codes, ratio(kCodeSamples, plan.unit)),
                       ratio(plan.rate, kModelRate));
    case ModelPart::Speaker:
      return resampled_length(samples, kModelRate, plan.rate);
    case ModelPart::Gpt:
      break;
  }
  return 0;
}

std::int64_t training_window(const VisitDraw& draw, std::int64_t window, std::int64_t last) {
  const RandomStream random(draw.key(), "data/window");
  const std::uint64_t number = kMostWindows * draw.repeat + static_cast<std::uint64_t>(window);
  return random.integer(number, 0, last);
}

std::int64_t evaluation_window(std::int64_t window, std::int64_t count, std::int64_t last) {
  return last * (2 * window + 1) / (2 * count);
}

}  // namespace myxtts
