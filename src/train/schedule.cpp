// SPDX-License-Identifier: Apache-2.0
#include "train/schedule.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

namespace myxtts {
namespace {

// coqui-tts counts these in epochs, so that its rate is constant in practice.
constexpr std::array<std::int64_t, 3> kHalvedAtEpochs = {900'000, 2'700'000, 5'400'000};

constexpr double kKeptEachEpoch = 0.999;

double by_epochs(std::int64_t epoch) {
  const auto halved =
      std::ranges::count_if(kHalvedAtEpochs, [epoch](auto at) { return epoch >= at; });
  return std::pow(0.5, static_cast<double>(halved));
}

// From 1 at the end of the warm-up to 0 at the last step.
double by_cosine(const ScheduleSettings& settings, std::int64_t step, double seconds) {
  const auto length =
      static_cast<double>(std::max<std::int64_t>(settings.last_step - settings.warmup_steps, 1));
  const double by_steps = static_cast<double>(step - settings.warmup_steps) / length;
  const double by_time = settings.most_seconds ? seconds / *settings.most_seconds : 0.0;
  const double done = std::clamp(std::max(by_steps, by_time), 0.0, 1.0);
  return 0.5 * (1.0 + std::cos(std::numbers::pi * done));
}

}  // namespace

double learning_rate(const ScheduleSettings& settings, std::int64_t step, std::int64_t epoch,
                     double seconds) {
  if (step < settings.warmup_steps) {
    return settings.learning_rate * static_cast<double>(step + 1) /
           static_cast<double>(settings.warmup_steps);
  }
  switch (settings.kind) {
    case ScheduleKind::Steps:
      return settings.learning_rate * by_epochs(epoch);
    case ScheduleKind::Constant:
      return settings.learning_rate;
    case ScheduleKind::Exponential:
      return settings.learning_rate * std::pow(kKeptEachEpoch, static_cast<double>(epoch));
    case ScheduleKind::Cosine:
      return settings.learning_rate * by_cosine(settings, step, seconds);
  }
  return settings.learning_rate;
}

}  // namespace myxtts
