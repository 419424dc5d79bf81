// SPDX-License-Identifier: Apache-2.0
#include "config/run_config.h"

#include <algorithm>

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

std::int64_t warmup_steps_of(const TrainConfig& config, std::int64_t steps) {
  constexpr std::int64_t kMost = 200;
  return config.warmup_steps.value_or(std::min(kMost, steps / 10));
}

std::optional<std::int64_t> eval_steps_of(const RunConfig& config, std::int64_t steps) {
  constexpr std::int64_t kTimes = 20;
  const auto& budgets = config.train.stage_budget;
  const bool by_steps = budgets && budgets->contains(config.train.stage) &&
                        budgets->at(config.train.stage).steps.has_value();
  if (config.run.eval_steps || !by_steps) return config.run.eval_steps;
  return std::max<std::int64_t>(1, steps / kTimes);
}

BestBy best_by_of(const RunConfig& config) {
  return config.train.stage == ModelPart::Speaker ? BestBy::Loss : config.run.best_by;
}

RunConfig with_absolute_paths(RunConfig config) {
  namespace fs = std::filesystem;
  const auto settle = [](fs::path& path) { path = fs::absolute(path).lexically_normal(); };
  for (auto* corpora : {&config.data.train_data, &config.data.val_data}) {
    for (CorpusSource& source : *corpora) settle(source.path);
  }
  settle(config.run.checkpoint_dir);
  for (auto* path : {&config.data.cache_dir, &config.train.init, &config.train.vocab,
                     &config.run.test_sentences, &config.run.judge, &config.run.trace}) {
    if (*path && *path != kInitRequired) settle(**path);
  }
  return config;
}

}  // namespace myxtts
