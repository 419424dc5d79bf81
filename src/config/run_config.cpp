// SPDX-License-Identifier: Apache-2.0
#include "config/run_config.h"

namespace myxtts {
double learning_rate_of(const TrainConfig& config) {
  const PartFacts& facts = facts_of(config.stage);
  return config.lr.value_or(config.init ? facts.learning_rate : facts.rate_from_nothing);
}

ScheduleKind schedule_of(const TrainConfig& config) {
  return config.schedule.value_or(facts_of(config.stage).schedule);
}

double weight_decay_of(const TrainConfig& config) {
  return config.weight_decay.value_or(facts_of(config.stage).weight_decay);
}

}  // namespace myxtts
