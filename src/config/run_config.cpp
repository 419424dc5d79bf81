// SPDX-License-Identifier: Apache-2.0
#include "config/run_config.h"

#include <algorithm>

#include "base/error.h"
#include "config/model.h"

namespace myxtts {
namespace {

constexpr std::array kFacts{StageFacts{.stage = Stage::Gpt,
                                       .name = "gpt",
                                       .file = files::kModel,
                                       .prefix = kGptPrefix,
                                       .on_windows = false,
                                       .learning_rate = 5e-6,
                                       .schedule = ScheduleKind::Steps,
                                       .weight_decay = 0.01,
                                       .batch_size = 1},
                            StageFacts{.stage = Stage::Dvae,
                                       .name = "dvae",
                                       .file = files::kDvae,
                                       .learning_rate = 3e-4,
                                       .weight_decay = 0.01,
                                       .batch_size = 16},
                            StageFacts{.stage = Stage::Decoder,
                                       .name = "decoder",
                                       .file = files::kModel,
                                       .prefix = kDecoderPrefix,
                                       .learning_rate = 2e-4,
                                       .schedule = ScheduleKind::Exponential,
                                       .batch_size = 8},
                            StageFacts{.stage = Stage::Speaker,
                                       .name = "speaker",
                                       .file = files::kModel,
                                       .prefix = kSpeakerEncoderPrefix,
                                       .learning_rate = 1e-3,
                                       .weight_decay = 0.01,
                                       .batch_size = 32}};

}  // namespace

const StageFacts& facts_of(Stage stage) {
  const auto* const found = std::ranges::find(kFacts, stage, &StageFacts::stage);
  MYXTTS_CHECK(found != kFacts.end(), "a stage without facts");
  return *found;
}

std::string_view name_of(Stage stage) {
  return facts_of(stage).name;
}

double learning_rate_of(const TrainConfig& config) {
  return config.lr.value_or(facts_of(config.stage).learning_rate);
}

ScheduleKind schedule_of(const TrainConfig& config) {
  return config.schedule.value_or(facts_of(config.stage).schedule);
}

double weight_decay_of(const TrainConfig& config) {
  return config.weight_decay.value_or(facts_of(config.stage).weight_decay);
}

}  // namespace myxtts
