// SPDX-License-Identifier: Apache-2.0
#include "session/ranks/rank_threads.h"

#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "base/log.h"
#include "base/thread_group.h"
#include "parallel/rank_processes.h"

namespace myxtts {
namespace {

std::chrono::milliseconds rank_timeout(const RunConfig& config) {
  using Milliseconds = std::chrono::milliseconds;
  const std::chrono::duration<double> timeout(config.parallel.rank_timeout);
  return std::chrono::duration_cast<Milliseconds>(timeout);
}

ProcessRanks ranks_with(const std::vector<DevicePlan>& plans) {
  return {.plans = plans, .first = 0, .world_size = std::ssize(plans)};
}

}  // namespace

RankThreads::RankThreads(const EffectiveConfig& settings, const std::vector<DevicePlan>& plans,
                         const RunDirectory& run, CheckpointStore& checkpoints,
                         const std::optional<Checkpoint>& resumed, const RunFrame& frame)
    : settings_(settings),
      run_(run),
      checkpoints_(checkpoints),
      resumed_(resumed),
      frame_(frame),
      inputs_(settings, ranks_with(plans), run, resumed),
      ranks_(plans.size()),
      running_(ranks_) {}

bool RankThreads::train() {
  const int size = static_cast<int>(ranks_);
  const int port = free_port();
  {
    ThreadGroup threads;
    for (int rank = 0; rank < size; ++rank) {
      const World world{
          .rank = rank, .size = size, .local_rank = rank, .local_size = size, .port = port};
      threads.start(fmt::format("rank {}", rank), [this, world] { run_rank(world); });
    }
    threads.join();
  }
  if (failure_) std::rethrow_exception(failure_);
  return ending_.whole;
}

void RankThreads::run_rank(const World& world) {
  std::optional<QuietThread> quiet;
  if (!world.leads()) quiet.emplace();
  try {
    RankTeam team(world, rank_timeout(settings_.values));
    try {
      train_rank(team);
    } catch (const std::exception& error) {
      keep_failure(std::current_exception());  // before the others end because of it
      team.announce_failure(error.what());
    }
  } catch (...) {
    keep_failure(std::current_exception());
  }
}

void RankThreads::train_rank(RankTeam& team) {
  const auto place = static_cast<std::size_t>(team.world().rank);
  RunFrame frame = frame_;
  frame.team = &team;
  frame.inputs = &inputs_;
  frame.place = place;
  TrainingRun training(settings_, inputs_.plan(place), run_, checkpoints_, resumed_, frame);
  set_running(place, &training);
  try {
    training.start();
    const bool whole = training.train();
    if (team.world().leads()) {
      ending_ = {.whole = whole,
                 .out_of_time = training.out_of_time(),
                 .state = training.state(),
                 .summary = training.summary()};
    }
  } catch (...) {
    set_running(place, nullptr);
    throw;
  }
  set_running(place, nullptr);
}

void RankThreads::set_running(std::size_t place, TrainingRun* training) {
  const std::lock_guard lock(mutex_);
  running_[place] = training;
  if (training != nullptr && stopped_) training->stop();
}

void RankThreads::keep_failure(std::exception_ptr failure) {
  const std::lock_guard lock(mutex_);
  if (!failure_) failure_ = std::move(failure);
}

void RankThreads::stop() {
  const std::lock_guard lock(mutex_);
  stopped_ = true;
  for (TrainingRun* training : running_) {
    if (training != nullptr) training->stop();
  }
}

}  // namespace myxtts
