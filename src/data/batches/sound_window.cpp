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

// The defaults of a stage.
struct Usual {
  std::int64_t per_clip;
  double seconds;
  std::int64_t unit;  // samples at `rate`
  std::int64_t rate;
  std::int64_t multiple;  // units that a length is a multiple of
};

Usual usual_of(ModelPart stage, const ModelConfig& model) {
  switch (stage) {
    case ModelPart::Dvae:
      return {.per_clip = 4,
              .seconds = 1.5,
              .unit = dvae_mel_config().hop,
              .rate = kModelRate,
              .multiple = kCodeFrames};
    case ModelPart::Decoder: {
      const auto hop = model.decoder.output_hop;
      const auto rate = model.decoder.output_sample_rate;
      constexpr double kFrames = 32;
      return {.per_clip = 4,
              .seconds = kFrames * static_cast<double>(hop) / static_cast<double>(rate),
              .unit = hop,
              .rate = rate,
              .multiple = 1};
    }
    case ModelPart::Speaker:
      return {.per_clip = 2,
              .seconds = 2.0,
              .unit = 1,
              .rate = model.speaker_encoder.sample_rate,
              .multiple = 1};
    case ModelPart::Gpt:
      break;
  }
  return {};
}

double ratio(std::int64_t a, std::int64_t b) {
  return static_cast<double>(a) / static_cast<double>(b);
}

std::int64_t stretched(std::int64_t count, double scale) {
  return static_cast<std::int64_t>(std::floor(static_cast<double>(count) * scale));
}

}  // namespace

WindowPlan plan_windows(ModelPart stage, const ModelConfig& model, const WindowWishes& wishes,
                        std::int64_t slots) {
  if (!facts_of(stage).on_windows) return {};
  const Usual usual = usual_of(stage, model);
  const double units = wishes.seconds.value_or(usual.seconds) * ratio(usual.rate, usual.unit);
  const auto multiples = std::llround(units / static_cast<double>(usual.multiple));
  return {.stage = stage,
          .slots = slots,
          .per_clip = wishes.per_clip.value_or(usual.per_clip),
          .length = std::max<std::int64_t>(multiples, 1) * usual.multiple,
          .unit = usual.unit,
          .rate = usual.rate};
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
