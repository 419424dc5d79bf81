// SPDX-License-Identifier: Apache-2.0
#include "session/ranks/rank_threads.h"

#include <utility>

#include <fmt/format.h>

#include "base/log.h"
#include "base/thread_group.h"
#include "parallel/rank_processes.h"
#include "session/ranks/rank_agreement.h"

namespace myxtts {

RankThreads::RankThreads(RunInputs& inputs, CheckpointStore& checkpoints, RunOptions options,
                         RankTeam& team)
    : inputs_(inputs),
      checkpoints_(checkpoints),
      options_(std::move(options)),
      team_(team),
      running_(inputs.ranks()) {}

Ending RankThreads::train() {
  if (inputs_.ranks() == 1) {
    train_rank(team_);
  } else {
    train_in_threads();
  }
  return ending_;
}

void RankThreads::train_in_threads() {
  const int size = static_cast<int>(inputs_.ranks());
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
}

void RankThreads::run_rank(const World& world) {
  std::optional<QuietThread> quiet;
  if (!world.leads()) quiet.emplace();
  try {
    RankTeam team(world, rank_timeout(inputs_.settings().values));
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
  const std::size_t place = inputs_.place_of(team.world());
  TrainingRun training(inputs_, checkpoints_, options_, team);
  set_running(place, &training);
  try {
    training.start();
    const Ending ending = training.train();
    if (place == 0) {
      ending_ = ending;
      state_ = training.state();
      summary_ = training.summary();
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
