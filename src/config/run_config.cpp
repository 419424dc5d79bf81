// SPDX-License-Identifier: Apache-2.0
#include "config/run_config.h"

namespace myxtts {

std::string_view name_of(Stage stage) {
  switch (stage) {
    case Stage::Gpt:
      return "gpt";
    case Stage::Dvae:
      return "dvae";
    case Stage::Decoder:
      return "decoder";
    case Stage::Speaker:
      return "speaker";
  }
  return "?";
}

namespace {

struct Defaults {
  double learning_rate;
  ScheduleKind schedule;
  double weight_decay;
  std::int64_t batch_size;
};

Defaults defaults_of(Stage stage) {
  switch (stage) {
    case Stage::Gpt:
      break;
    case Stage::Dvae:
      return {3e-4, ScheduleKind::Constant, 0.01, 16};
    case Stage::Decoder:
      return {2e-4, ScheduleKind::Exponential, 0.0, 8};
    case Stage::Speaker:
      return {1e-3, ScheduleKind::Constant, 0.01, 32};
  }
  return {5e-6, ScheduleKind::Steps, 0.01, 1};
}

}  // namespace

double learning_rate_of(const TrainConfig& config) {
  return config.lr.value_or(defaults_of(config.stage).learning_rate);
}

ScheduleKind schedule_of(const TrainConfig& config) {
  return config.schedule.value_or(defaults_of(config.stage).schedule);
}

double weight_decay_of(const TrainConfig& config) {
  return config.weight_decay.value_or(defaults_of(config.stage).weight_decay);
}

std::int64_t usual_batch_size(Stage stage) {
  return defaults_of(stage).batch_size;
}

}  // namespace myxtts
