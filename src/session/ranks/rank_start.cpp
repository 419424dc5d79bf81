// SPDX-License-Identifier: Apache-2.0
#include "session/ranks/rank_start.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/error.h"
#include "base/log.h"
#include "base/process.h"
#include "base/thread_group.h"
#include "device/machine.h"
#include "parallel/rank_processes.h"
#include "parallel/world.h"
#include "session/console.h"
#include "session/plan_run.h"
#include "session/ranks/rank_agreement.h"

namespace myxtts {
namespace {

// Rank 0's bar may stand in the last line of the terminal; it draws it again with its next step.
ShowLine above_the_bar() {
  const bool may_have_bar = standard_screen().abilities().terminal;
  return [may_have_bar](const std::string& line) {
    standard_screen().write_line(may_have_bar ? "\r\x1b[K" + line : line);
  };
}

}  // namespace

int launch_ranks(int ranks, std::vector<std::string> arguments, std::optional<int> port) {
  arguments.insert(arguments.begin(), own_program());
  RankProcesses processes({.ranks = ranks,
                           .command = std::move(arguments),
                           .port = port.value_or(0),
                           .show = above_the_bar()});
  const auto outcome = processes.run();
  if (!outcome.cause.empty()) {
    log_to_files(LogLevel::Error, outcome.cause);
    report_error(outcome.cause);
  }
  return outcome.exit_code;
}

std::vector<std::string> own_arguments() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::vector<std::string> words;
  for (std::string word; std::getline(file, word, '\0');) words.push_back(word);
  if (!words.empty()) words.erase(words.begin());
  return words;
}

namespace {

// What one process alone can do. Each sentence says what to type.
void refuse_what_ranks_cannot(const RunConfig& config) {
  const std::string ranks = "With several ranks ";
  if (config.devices.mode == Mode::Auto) {
    throw ConfigError(
        ranks +
        "--mode auto cannot measure placements; leave it out, or name one, as in --mode cpu.");
  }
  if (config.train.stages) {
    throw ConfigError(ranks +
                      "the stage gpt alone is trained so far; give --stage gpt in place of "
                      "--stages.");
  }
  if (config.train.stage_budget) {
    throw ConfigError(ranks +
                      "--stage-budget has no meaning, as the stage gpt alone is trained; "
                      "give --max-steps or --max-minutes.");
  }
}

// Ranks are processes of a launcher or threads of one process.
[[noreturn]] void refuse_launched_threads(const RunConfig& config, const World& world) {
  const std::string flag = config.parallel.ranks ? "--ranks" : "--gpus with --data-gpu";
  throw ConfigError(fmt::format(
      "{} makes the ranks of a run in one process, but a launcher has started this one as rank {} "
      "of {}; leave it out, or type myxtts train without the launcher.",
      flag, world.rank, world.size));
}

// A step's clips are divided by what one rank holds, so all must hold equally many.
void require_equal_batches(RankTeam& team, const DevicePlan& plan) {
  const std::array<double, 3> own{static_cast<double>(plan.batch_size),
                                  static_cast<double>(plan.batch_tokens.value_or(0)),
                                  static_cast<double>(plan.grad_accum)};
  const std::vector<double> all = team.all_gather(own);
  for (std::size_t i = own.size(); i < all.size(); ++i) {
    if (all[i] == all[i % own.size()]) continue;
    throw DeviceError(fmt::format(
        "Rank {} has planned other batches than rank 0, by the memory of its device; give one size "
        "for all, as in --batch-size {:.0f} --grad-accum {:.0f}.",
        i / own.size(), std::min(all[0], all[i / own.size() * own.size()]), all[2]));
  }
}

}  // namespace

RankStart::RankStart(const RunConfig& config)
    : config_(config),
      world_(world_of(process_environment())),
      team_(std::make_unique<RankTeam>()) {
  if (world_ || has_rank_threads(config) || has_rank_processes(config)) {
    refuse_what_ranks_cannot(config);
  }
  if (!world_) return;
  if (has_rank_threads(config)) refuse_launched_threads(config, *world_);
  keep_to_share_of_cores(*world_);
  if (!world_->leads()) configure_log(LogLevel::Error, {}, /*progress=*/false);
}

bool RankStart::starts_processes() const {
  return !world_ && has_rank_processes(config_);
}

std::vector<DevicePlan> RankStart::plan(const RunConfig& config) const {
  const ModelConfig model = sizes_of_run(config);
  if (has_rank_threads(config)) return plan_ranks(config, model);
  if (!world_) return {plan_run(without_auto(config), model)};
  SystemProbe probe;
  return {plan_run(settings_of_rank(config, *world_, discover_machine(probe).gpus), model,
                   world_->local_size)};
}

void RankStart::join(const DevicePlan& plan) {
  if (!world_) return;
  team_ = std::make_unique<RankTeam>(*world_, rank_timeout(config_));
  require_equal_batches(*team_, plan);
  log_info("ranks", "{} rank{} one model{}; this is rank 0", world_->size,
           world_->size == 1 ? " trains" : "s train", plan.model.gpu ? " over NCCL" : "");
}

RankStart::~RankStart() = default;

// A launcher that starts lost ranks anew wants them to go on.
std::optional<Checkpoint> RankStart::starting_point(const RunDirectory& run,
                                                    const CheckpointStore& store,
                                                    const RunConfig& config) const {
  namespace fs = std::filesystem;
  std::optional<std::string> resume = config.run.resume;
  if (!resume && team_->world().restarts > 0) resume = "latest";
  std::optional<Checkpoint> found;
  if (leads()) found = find_starting_point(run, store, resume, config.train.stage);
  const std::string folder = team_->broadcast(found ? fs::absolute(found->folder).string() : "");
  const std::string step = team_->broadcast(found ? std::to_string(found->step) : "0");
  if (folder.empty()) return std::nullopt;
  if (leads()) return found;
  if (!fs::exists(folder)) {
    throw DataError(fmt::format(
        "Rank {} cannot see {}, which rank 0 continues with: --checkpoint-dir must be a folder "
        "that every host sees under the same name.",
        team_->world().rank, folder));
  }
  return Checkpoint{.folder = folder, .step = std::stoll(step)};
}

std::filesystem::path RankStart::folder_of(const std::filesystem::path& run) const {
  if (leads()) return run;
  return run / "ranks" / fmt::format("rank-{}", team_->world().rank);
}

std::filesystem::path RankStart::own_file(const std::filesystem::path& file) const {
  if (!world_ || world_->leads()) return file;
  std::filesystem::path own = file;
  return own.replace_extension(fmt::format("rank-{}{}", world_->rank, file.extension().string()));
}

std::string RankStart::started(const std::string& command) const {
  const int size = world_ ? world_->size : 1;
  if (size == 1) return command;
  constexpr std::string_view kProgram = "myxtts ";
  const bool on_one_host = world_->local_size == size;
  if (on_one_host && has_rank_processes(config_)) return command;  // train starts them itself
  const bool by_launch = on_one_host && command.starts_with(kProgram);
  return by_launch
             ? fmt::format("myxtts launch --ranks {} -- {}", size, command.substr(kProgram.size()))
             : fmt::format("{} (by the launcher of its {} ranks)", command, size);
}

int RankStart::share_failures(const std::function<int()>& work) const {
  try {
    return work();
  } catch (const std::exception& error) {
    team_->announce_failure(error.what());
    throw;
  }
}

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
