// SPDX-License-Identifier: Apache-2.0
#include "run/checkpoint_store.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <set>
#include <system_error>
#include <utility>

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/log.h"
#include "run/model_folder.h"
#include "run/run_directory.h"
#include "run/sealed_folder.h"

namespace myxtts {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "step-";
constexpr const char* kUnfinished = ".unfinished-";
constexpr const char* kLatest = "latest";
constexpr const char* kBest = "best";
constexpr const char* kCheckpoints = "checkpoints";

std::string name_of_step(std::int64_t step) {
  return fmt::format("{}{:07}", kPrefix, step);
}

std::optional<std::int64_t> parse_step(std::string_view digits) {
  std::int64_t step = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), step);
  if (error != std::errc() || end != digits.data() + digits.size() || step < 0) return {};
  return step;
}

std::optional<std::int64_t> step_of(const fs::path& folder) {
  const std::string name = folder.filename().string();
  if (!name.starts_with(kPrefix)) return {};
  return parse_step(std::string_view(name).substr(kPrefix.size()));
}

[[noreturn]] void refuse(const fs::path& path, const std::error_code& error) {
  throw DataError(
      fmt::format("The checkpoint {} cannot be put in place: {}.", path.string(), error.message()));
}

// What processes that were killed left behind.
void remove_unfinished(const fs::path& folder) {
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (!entry.path().filename().string().starts_with(kUnfinished)) continue;
    std::error_code ignored;  // it costs room and nothing else
    fs::remove_all(entry.path(), ignored);
  }
}

Checkpoint describe(const fs::path& folder, std::int64_t step) {
  Checkpoint checkpoint{.folder = folder, .step = step};
  try {
    const Checkpoint sealed = read_sealed_folder(folder);
    checkpoint.validation_loss = sealed.validation_loss;
    checkpoint.sample_cer = sealed.sample_cer;
  } catch (const DataError&) {
    checkpoint.is_damaged = true;  // newest_valid() says how
  }
  return checkpoint;
}

std::vector<Checkpoint> checkpoints_in(const fs::path& folder) {
  std::vector<Checkpoint> found;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (const auto step = step_of(entry.path())) found.push_back(describe(entry.path(), *step));
  }
  std::ranges::sort(found, {}, &Checkpoint::step);
  return found;
}

}  // namespace

fs::path folder_of_checkpoint(const fs::path& run, const std::string& step_or_path) {
  const auto step = parse_step(step_or_path);
  fs::path folder = step ? run / kCheckpoints / name_of_step(*step) : fs::path(step_or_path);
  if (!fs::is_directory(folder)) {
    throw DataError(fmt::format(
        "There is no checkpoint {}; --resume without a value takes the newest one of the run.",
        folder.string()));
  }
  if (!fs::exists(folder / kChecksums)) {
    throw DataError(
        fmt::format("{} is no checkpoint{}. --resume without a value takes the newest "
                    "one of the run.",
                    folder.string(), what_a_run_is(folder)));
  }
  return folder;
}

CheckpointStore::CheckpointStore(fs::path run, std::int64_t keep_last, std::int64_t keep_best,
                                 BestBy best_by)
    : run_(std::move(run)),
      folder_(run_ / kCheckpoints),
      keep_last_(static_cast<std::size_t>(keep_last)),
      keep_best_(static_cast<std::size_t>(keep_best)),
      best_by_(best_by) {
  std::error_code error;
  fs::create_directories(folder_, error);
  if (error) {
    throw DataError(fmt::format("{} cannot be made: {}.", folder_.string(), error.message()));
  }
  remove_unfinished(folder_);
}

CheckpointStore::Writer CheckpointStore::write(std::int64_t step,
                                               std::optional<double> validation_loss) {
  return Writer(*this, step, validation_loss);
}

std::vector<Checkpoint> CheckpointStore::all() const {
  return checkpoints_in(folder_);
}

namespace {

// Those that were measured, the best first; of equal ones by what is heard the one with the lower
// loss, else the older one.
std::vector<Checkpoint> ranked(std::vector<Checkpoint> found, BestBy best_by) {
  const auto measured = [best_by](const Checkpoint& each) {
    return best_by == BestBy::Cer ? each.sample_cer : each.validation_loss;
  };
  std::erase_if(found, [&](const Checkpoint& each) { return !measured(each); });
  std::ranges::stable_sort(found, {}, [&](const Checkpoint& each) {
    return std::pair(*measured(each), each.validation_loss.value_or(0.0));
  });
  return found;
}

std::string measured_as(const Checkpoint& best, BestBy best_by) {
  return best_by == BestBy::Cer
             ? fmt::format("with {:.1f} % character errors", 100 * *best.sample_cer)
             : fmt::format("with a validation loss of {:.4f}", *best.validation_loss);
}

}  // namespace

std::vector<Checkpoint> list_checkpoints(const fs::path& run) {
  std::error_code none;
  if (!fs::is_directory(run / kCheckpoints, none)) return {};
  return checkpoints_in(run / kCheckpoints);
}

std::optional<Checkpoint> best_checkpoint(const fs::path& run, BestBy best_by) {
  const auto found = ranked(list_checkpoints(run), best_by);
  return found.empty() ? std::nullopt : std::optional(found.front());
}

bool CheckpointStore::note_sample_cer(std::int64_t step, double sample_cer) {
  const fs::path folder = folder_ / name_of_step(step);
  std::error_code none;
  if (!fs::is_directory(folder, none)) return false;
  myxtts::note_sample_cer(folder, sample_cer);
  const auto found = all();
  set_best(found.back().step);
  remove_old(found.back().step);
  return true;
}

std::optional<Checkpoint> CheckpointStore::newest_valid() const {
  auto found = all();
  const std::size_t whole = found.size();
  for (; !found.empty(); found.pop_back()) {
    const std::string damage = find_damage(found.back().folder);
    if (damage.empty()) {
      set_link(kLatest, found.back().step);
      set_best(found.back().step);
      // A process may have been killed between a checkpoint and the removal of the old ones.
      // Damaged ones stay to be looked at, until the next save.
      if (found.size() == whole) remove_old(found.back().step);
      return found.back();
    }
    log_warning("run", "The checkpoint {} is damaged and passed over: {}.",
                found.back().folder.string(), damage);
  }
  return {};
}

Checkpoint CheckpointStore::at(const std::string& step_or_path) const {
  const fs::path folder = folder_of_checkpoint(run_, step_or_path);
  if (const std::string damage = find_damage(folder); !damage.empty()) {
    throw DataError(fmt::format(
        "The checkpoint {} is damaged: {}. --resume without a value takes the newest whole one.",
        folder.string(), damage));
  }
  return read_sealed_folder(folder);
}

// A link, replaced by renaming another one over it. Where that cannot be, the checkpoint is there
// all the same.
void CheckpointStore::set_link(const char* name, std::int64_t step) const {
  std::error_code error;
  const fs::path link = run_ / fmt::format(".{}-{}", name, ::getpid());
  fs::remove(link, error);
  fs::create_directory_symlink(fs::path(kCheckpoints) / name_of_step(step), link, error);
  if (!error) fs::rename(link, run_ / name, error);
  if (!error) return;
  std::error_code ignored;
  fs::remove(link, ignored);
  log_warning("run", "{} cannot be made a link to {}, which is whole: {}.", (run_ / name).string(),
              (folder_ / name_of_step(step)).string(), error.message());
}

// Before old ones go, so that it never points at nothing. What --keep-best 0 does not keep has no
// such name.
void CheckpointStore::set_best(std::int64_t newest) const {
  auto found = all();
  std::erase_if(found, [newest](const Checkpoint& each) { return each.step > newest; });
  const auto best = ranked(std::move(found), best_by_);
  std::error_code error;
  if (best.empty() || keep_best_ == 0) {
    if (fs::is_symlink(run_ / kBest, error)) fs::remove(run_ / kBest, error);
    return;
  }
  const fs::path target = fs::path(kCheckpoints) / name_of_step(best.front().step);
  if (fs::read_symlink(run_ / kBest, error) == target) return;
  set_link(kBest, best.front().step);
  log_info("run", "{} is the checkpoint of step {} now, {}", (run_ / kBest).string(),
           best.front().step, measured_as(best.front(), best_by_));
}

void CheckpointStore::put_in_place(const fs::path& staging, std::int64_t step) {
  // A checkpoint of the same step, made before a resume, takes its place; the Writer removes it.
  put_folder(staging, folder_ / name_of_step(step));
  bring_folder_to_disk(folder_);  // before older ones go
  set_link(kLatest, step);
  set_best(step);
  remove_old(step);
}

void CheckpointStore::remove_old(std::int64_t newest) const {
  auto found = all();
  // Later steps are those of a future that was given up when the run went on from an earlier one.
  std::erase_if(found, [newest](const Checkpoint& each) { return each.step > newest; });
  std::set<std::int64_t> kept{newest};
  for (std::size_t i = 0; i < std::min(keep_last_, found.size()); ++i) {
    kept.insert(found[found.size() - 1 - i].step);
  }
  const auto best = ranked(std::move(found), best_by_);
  for (std::size_t i = 0; i < std::min(keep_best_, best.size()); ++i) kept.insert(best[i].step);

  for (const auto& checkpoint : all()) {
    if (kept.contains(checkpoint.step)) continue;
    std::error_code error;
    fs::remove_all(checkpoint.folder, error);
    if (error) {
      log_warning("run", "The old checkpoint {} could not be removed: {}.",
                  checkpoint.folder.string(), error.message());
    }
  }
}

CheckpointStore::Writer::Writer(CheckpointStore& store, std::int64_t step,
                                std::optional<double> validation_loss)
    : store_(store),
      step_(step),
      validation_loss_(validation_loss),
      staging_(store.folder_ / fmt::format("{}{}-{}", kUnfinished, step, ::getpid())) {
  std::error_code error;
  fs::remove_all(staging_, error);
  fs::create_directory(staging_, error);
  if (error) refuse(staging_, error);
}

CheckpointStore::Writer::~Writer() {
  std::error_code ignored;  // the next process tries again
  fs::remove_all(staging_, ignored);
}

void CheckpointStore::Writer::link(const fs::path& file, const std::string& name) {
  std::error_code error;
  fs::create_hard_link(fs::canonical(file, error), staging_ / name, error);
  if (error) fs::copy_file(file, staging_ / name, error);
  if (error) refuse(staging_ / name, error);
}

void CheckpointStore::Writer::commit() {
  seal_folder({.folder = staging_, .step = step_, .validation_loss = validation_loss_});
  store_.put_in_place(staging_, step_);
}

}  // namespace myxtts
