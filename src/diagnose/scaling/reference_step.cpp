// SPDX-License-Identifier: Apache-2.0
#include "diagnose/scaling/reference_step.h"

#include "config/model.h"
#include "model/gpt_specs.h"
#include "model/parameter_count.h"

namespace myxtts {
namespace {

constexpr const char* kMeasured = "xtts-v2";
// Fitted to steps of 3 to 64 clips on an H200 (docs/results/training-speed.md).
constexpr double kFixedMs = 2.8;
constexpr double kClipMs = 2.06;
constexpr double kUpdateMs = 3.5;
// A core decodes 498 clips of FLAC a second (docs/results/data.md).
constexpr double kCoreClipMs = 2.0;

}  // namespace

std::int64_t trained_parameters(const std::string& model_size) {
  return parameter_count(gpt_specs(model_preset(model_size).gpt));
}

RankStep reference_step(const std::string& model_size) {
  const double layers = static_cast<double>(model_preset(model_size).gpt.layers) /
                        static_cast<double>(model_preset(kMeasured).gpt.layers);
  const double parameters = static_cast<double>(trained_parameters(model_size)) /
                            static_cast<double>(trained_parameters(kMeasured));
  return {.fixed_ms = kFixedMs * layers,
          .clip_ms = kClipMs * parameters,
          .update_ms = kUpdateMs * parameters,
          .core_clip_ms = kCoreClipMs};
}

RankStep stretched(const RankStep& reference, std::int64_t clips, double measured_ms) {
  const double factor = measured_ms / (reference.pass_ms(clips) + reference.update_ms);
  RankStep step = reference;
  step.fixed_ms *= factor;
  step.clip_ms *= factor;
  step.update_ms *= factor;
  step.measured = true;
  return step;
}

}  // namespace myxtts
