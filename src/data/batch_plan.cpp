// SPDX-License-Identifier: Apache-2.0
#include "data/batch_plan.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include "base/error.h"
#include "data/batches/batch_sizes.h"
#include "data/batches/epoch_plan.h"

namespace myxtts {
namespace {

std::vector<VisitGroup> checked(std::vector<VisitGroup> groups) {
  std::int64_t visits = 0;
  for (const VisitGroup& group : groups) visits += group.visits;
  if (visits == 0) throw DataError("There is not one clip to make batches of.");
  return groups;
}

std::vector<RowSizes> sizes_of(const EpochPlanner& planner, const BatchSettings& settings) {
  if (!settings.static_shapes) return {};
  RowSizes bound = planner.bound();
  bound.tokens = std::max(bound.tokens, settings.least_tokens);
  std::vector<RowSizes> sizes =
      choose_sizes(planner.simulated(), bound, settings.most_token_counts);
  const auto too_small = [&settings](const RowSizes& size) {
    return size.tokens < settings.least_tokens;
  };
  std::erase_if(sizes, too_small);  // never the last one, the bound
  return sizes;
}

}  // namespace

struct BatchPlan::State {
  State(const Corpus& corpus, std::vector<VisitGroup> groups, const GptConfig& gpt,
        const BatchSettings& chosen, const EpochStart& start)
      : settings(chosen),
        planner(groups, RowLengths(corpus, groups, gpt), chosen, start),
        sizes(sizes_of(planner, chosen)) {}

  std::shared_ptr<const EpochPlan> epoch(std::int64_t number);
  std::vector<Visit> share(const EpochPlan& plan, std::int64_t step) const {
    return planner.shares(plan.step(step))[static_cast<std::size_t>(settings.rank)];
  }
  PlannedBatch batch_of(DataPosition position, std::span<const Visit> visits) const;

  const BatchSettings settings;
  const EpochPlanner planner;
  const std::vector<RowSizes> sizes;

  // Everything below is guarded by mutex.
  struct Known {
    std::int64_t epoch = -1;
    std::shared_ptr<const EpochPlan> plan;
  };
  std::mutex mutex;
  Known known[2];  // the epochs asked for last: readers may already be in the next one
};

std::shared_ptr<const EpochPlan> BatchPlan::State::epoch(std::int64_t number) {
  const std::lock_guard lock(mutex);
  if (known[1].epoch == number) std::swap(known[0], known[1]);
  if (known[0].epoch != number) {
    known[1] = std::move(known[0]);
    known[0] = {number, std::make_shared<const EpochPlan>(planner.plan(number))};
  }
  return known[0].plan;
}

PlannedBatch BatchPlan::State::batch_of(DataPosition position,
                                        std::span<const Visit> visits) const {
  PlannedBatch batch{.position = position, .clips = {}, .repeats = {}, .sizes = {}};
  for (const Visit& visit : visits) {
    batch.clips.push_back(visit.clip);
    batch.repeats.push_back(visit.repeat);
  }
  if (settings.static_shapes) batch.sizes = fitting_size(sizes, planner.lengths().total(visits));
  return batch;
}

BatchPlan::BatchPlan(const Corpus& corpus, const GptConfig& gpt, const BatchSettings& settings,
                     const EpochStart& start)
    : state_(std::make_unique<State>(
          corpus, checked({corpus.training_groups().begin(), corpus.training_groups().end()}), gpt,
          settings, start)) {}

BatchPlan::BatchPlan(const Corpus& corpus, std::span<const ClipNumber> clips, const GptConfig& gpt,
                     const BatchSettings& settings)
    : state_(std::make_unique<State>(corpus, checked({once_each(clips)}), gpt, settings,
                                     EpochStart{})) {}

BatchPlan::BatchPlan(BatchPlan&&) noexcept = default;
BatchPlan& BatchPlan::operator=(BatchPlan&&) noexcept = default;
BatchPlan::~BatchPlan() = default;

std::int64_t BatchPlan::slots() const {
  return state_->planner.slots();
}

std::int64_t BatchPlan::ranks() const {
  return state_->settings.world_size;
}

std::int64_t BatchPlan::steps_per_epoch(std::int64_t epoch) const {
  const BatchSettings& settings = state_->settings;
  if (settings.batch_tokens || state_->planner.is_rest(epoch)) {
    return std::ssize(state_->epoch(epoch)->ends);
  }
  const std::int64_t clips = settings.batch_size * settings.world_size;
  return (state_->planner.visits() + clips - 1) / clips;
}

const std::vector<RowSizes>& BatchPlan::sizes() const {
  return state_->sizes;
}

double BatchPlan::useful_share() const {
  if (!state_->settings.static_shapes) return 1.0;
  const auto plan = state_->epoch(0);
  std::int64_t useful = 0;
  std::int64_t computed = 0;
  for (std::int64_t step = 0; step < std::ssize(plan->ends); ++step) {
    const RowSizes batch = state_->planner.lengths().total(state_->share(*plan, step));
    useful += batch.tokens;
    computed += fitting_size(state_->sizes, batch).tokens;
  }
  return static_cast<double>(useful) / static_cast<double>(computed);
}

PlannedBatch BatchPlan::batch(DataPosition position) const {
  const auto plan = state_->epoch(position.epoch);
  return state_->batch_of(position, state_->share(*plan, position.step));
}

std::vector<PlannedBatch> BatchPlan::batches_of_ranks(DataPosition position) const {
  const auto plan = state_->epoch(position.epoch);
  std::vector<PlannedBatch> batches;
  for (const auto& share : state_->planner.shares(plan->step(position.step))) {
    batches.push_back(state_->batch_of(position, share));
  }
  return batches;
}

EpochStart BatchPlan::rest_from(DataPosition position) const {
  if (position.step == 0 && !state_->planner.is_rest(position.epoch)) {
    return {.epoch = position.epoch};
  }
  const auto plan = state_->epoch(position.epoch);
  return {
      .epoch = position.epoch, .visits = plan->visits_before(position.step), .order = plan->order};
}

DataPosition BatchPlan::next(DataPosition position) const {
  const bool is_last = position.step + 1 >= steps_per_epoch(position.epoch);
  return is_last ? DataPosition{position.epoch + 1, 0}
                 : DataPosition{position.epoch, position.step + 1};
}

}  // namespace myxtts
