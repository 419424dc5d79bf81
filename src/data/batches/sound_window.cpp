// SPDX-License-Identifier: Apache-2.0
#include "data/batches/sound_window.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "audio/phase_filter.h"
#include "base/checksum.h"
#include "base/error.h"
#include "base/random.h"
#include "config/model.h"
#include "data/clip.h"

namespace myxtts {
namespace {

constexpr std::int64_t kShortestPrompt = 66'150;
constexpr std::int64_t kEvaluationPrompt = 99'225;
constexpr std::int64_t kCode = 1024;  // samples that a code stands for

// A clip that is shorter than the prompt drawn for it gives half of itself.
std::int64_t fitting(std::int64_t length, std::int64_t samples) {
  return samples < length ? samples / 2 : length;
}

}  // namespace

std::uint64_t VisitDraw::key() const {
  FastChecksum clip(static_cast<std::uint64_t>(epoch));
  clip.add(bytes_of(clip_id));
  return seed ^ clip.value();
}

PromptSpan training_prompt(const VisitDraw& draw, std::int64_t samples) {
  const RandomStream random(draw.key(), "data/prompt");
  const std::uint64_t first_draw = std::uint64_t{2} * draw.repeat;
  const auto length = fitting(random.integer(first_draw, kShortestPrompt, kLongestPrompt), samples);
  const auto first = random.integer(first_draw + 1, 0, samples - length);
  return {.first = first, .last = first + length};
}

std::int64_t training_shift(const VisitDraw& draw) {
  return RandomStream(draw.key(), "data/shift").integer(draw.repeat, 0, kCode - 1);
}

ReplacedCodes training_noise(const VisitDraw& draw, double share, std::int64_t count,
                             std::int64_t codes) {
  const RandomStream random(draw.key(), "data/noise");
  const std::uint64_t first_draw = std::uint64_t{draw.repeat} << 32U;
  ReplacedCodes replaced;
  for (std::int64_t place = 0; place < count; ++place) {
    const std::uint64_t index = first_draw + 2 * static_cast<std::uint64_t>(place);
    if (random.uniform(index) >= share) continue;
    replaced.emplace_hint(replaced.end(), place, random.integer(index + 1, 0, codes - 1));
  }
  return replaced;
}

PromptSpan evaluation_prompt(std::int64_t samples) {
  return {.first = 0, .last = fitting(kEvaluationPrompt, samples)};
}

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

// The windows of a part where nothing else is asked for.
struct UsualWindow {
  std::int64_t unit = 1;  // samples
  std::int64_t rate = 0;
  double seconds = 0;
};

UsualWindow dvae_window(const ModelConfig&) {
  return {.unit = dvae_mel_config().hop, .rate = kModelRate, .seconds = 1.5};
}

UsualWindow vocoder_window(const ModelConfig& model) {
  constexpr double kFrames = 32;
  const std::int64_t hop = model.decoder.output_hop;
  const std::int64_t rate = model.decoder.output_sample_rate;
  return {.unit = hop,
          .rate = rate,
          .seconds = kFrames * static_cast<double>(hop) / static_cast<double>(rate)};
}

UsualWindow speaker_window(const ModelConfig& model) {
  return {.rate = model.speaker_encoder.sample_rate, .seconds = 2.0};
}

std::int64_t mel_frames(const WindowPlan& plan, std::int64_t samples, std::int64_t /*codes*/) {
  return samples / plan.unit + 1;
}

// As the vocoder stretches latents, first to the hop, then to the rate.
std::int64_t vocoder_frames(const WindowPlan& plan, std::int64_t /*samples*/, std::int64_t codes) {
  return stretched(stretched(codes, ratio(kCodeSamples, plan.unit)), ratio(plan.rate, kModelRate));
}

std::int64_t samples_at_rate(const WindowPlan& plan, std::int64_t samples, std::int64_t /*codes*/) {
  return resampled_length(samples, kModelRate, plan.rate);
}

// All that is known of the windows of a part.
struct PartWindows {
  WindowContent content = {};
  std::int64_t per_clip = 4;
  std::int64_t multiple = 1;  // units that a length is a multiple of
  UsualWindow (*usual)(const ModelConfig& model) = nullptr;
  std::int64_t (*units)(const WindowPlan& plan, std::int64_t samples, std::int64_t codes) = nullptr;
};

constexpr std::array kPartWindows{
    PartWindows{.content = {.part = ModelPart::Dvae, .as_mel = true},
                .multiple = kCodeFrames,
                .usual = dvae_window,
                .units = mel_frames},
    PartWindows{.content = {.part = ModelPart::Decoder, .of_recording = true, .with_voices = true},
                .usual = vocoder_window,
                .units = vocoder_frames},
    PartWindows{.content = {.part = ModelPart::Speaker, .with_speakers = true},
                .per_clip = 2,
                .usual = speaker_window,
                .units = samples_at_rate}};

constexpr PartWindows kNoWindows;

const PartWindows& contents_of(ModelPart part) {
  if (!facts_of(part).on_windows) return kNoWindows;
  const auto* const found = std::ranges::find(
      kPartWindows, part, [](const PartWindows& windows) { return windows.content.part; });
  MYXTTS_CHECK(found != kPartWindows.end(), "the part {} has no windows", name_of(part));
  return *found;
}

}  // namespace

const WindowContent& windows_of(ModelPart part) {
  return contents_of(part).content;
}

WindowPlan plan_windows(const TrainConfig& train, const ModelConfig& model, std::int64_t slots) {
  if (!facts_of(train.stage).on_windows) return {};
  const PartWindows& part = contents_of(train.stage);
  const UsualWindow usual = part.usual(model);
  WindowPlan plan{.part = train.stage,
                  .slots = slots,
                  .per_clip = train.windows_per_clip.value_or(part.per_clip),
                  .unit = usual.unit,
                  .rate = usual.rate};
  const double units = train.window.value_or(usual.seconds) * ratio(plan.rate, plan.unit);
  const auto multiples = std::llround(units / static_cast<double>(part.multiple));
  plan.length = std::max<std::int64_t>(multiples, 1) * part.multiple;
  return plan;
}

std::int64_t units_of(const WindowPlan& plan, std::int64_t samples, std::int64_t codes) {
  return plan.empty() ? 0 : contents_of(plan.part).units(plan, samples, codes);
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
