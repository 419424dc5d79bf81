// SPDX-License-Identifier: Apache-2.0
#include "session/trial_parts.h"

#include <algorithm>
#include <limits>
#include <optional>

#include <c10/util/Exception.h>

#include "base/progress.h"
#include "session/memory_advice.h"
#include "session/run_records.h"
#include "session/stage_factory.h"
#include "session/training_settings.h"

namespace myxtts {
namespace {

constexpr std::int64_t kStagedAhead = 4;  // batches between buffer and ring

// A trial ends when it has measured enough, not with the data.
EffectiveConfig without_end(EffectiveConfig settings) {
  settings.values.train.epochs = std::numeric_limits<std::int32_t>::max();
  settings.values.train.max_steps.reset();
  settings.values.run.early_stopping.reset();
  return settings;
}

StartingModel model_of(const EffectiveConfig& settings, const std::filesystem::path& folder) {
  const auto& init = settings.values.train.init;
  return init ? start_from_folder(*init, folder, settings.values.train.stage)
              : start_from_nothing(settings.values, folder);
}

std::unique_ptr<StageTraining> place(const TrialParts& parts) {
  say(placing_model(parts.plan));
  try {
    return make_stage_training({.config = parts.settings.values,
                                .plan = parts.plan,
                                .start = parts.start,
                                .data = parts.data,
                                .device = *parts.devices.model});
  } catch (const c10::Error&) {
    rethrow_with_advice(*parts.devices.model, parts.plan, parts.start.network.config,
                        parts.settings.values.train);
  }
}

}  // namespace

TrialParts::TrialParts(const EffectiveConfig& given, const DevicePlan& planned,
                       const std::filesystem::path& folder, StageProbe& probes)
    : settings(without_end(given)),
      plan(planned),
      probe(probes),
      start(model_of(settings, folder)),
      data(settings.values, planned, start, folder, {.probe = &probes}),
      devices(planned, start.network),
      shared{settings.values, plan, start.network.config.gpt, data, devices, &probe},
      training(place(*this)),
      trainer(*training, trainer_settings(settings.values, data)) {}

std::unique_ptr<BatchFeed> TrialParts::make_feed() const {
  auto feed = BatchFeed::for_training(shared);
  feed->start({});
  feed->wait_until_ready();
  return feed;
}

std::int64_t TrialParts::batches_ahead(const PipelineFacts& facts) {
  return facts.buffer_batches + facts.ring_slots + kStagedAhead;
}

void TrialParts::fill_cache(std::int64_t batches) const {
  if (data.cache() == nullptr) return;
  const auto feed = make_feed();
  // What stages work on ahead of the trainer counts as well, and as many until that is steady; an
  // epoch holds every clip.
  const std::int64_t ahead = 2 * batches_ahead(feed->facts());
  const std::int64_t wanted = std::min(batches + ahead, data.training().batches.steps_per_epoch());
  Progress progress({.title = "Filling the cache", .total = static_cast<std::uint64_t>(wanted)});
  for (std::int64_t batch = 0; batch < wanted; ++batch) {
    auto slot = feed->next();
    if (!slot) break;
    (*slot)->consumed.record(devices.model->stream());
    progress.advance();
  }
  feed->finish();
}

void TrialParts::step(DeviceBatch& batch) {
  try {
    probe.tell(Work::Step);
    trainer.step(batch);
  } catch (const c10::Error&) {
    rethrow_with_advice(*devices.model, plan, start.network.config, settings.values.train);
  }
}

}  // namespace myxtts
