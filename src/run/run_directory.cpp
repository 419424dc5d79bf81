// SPDX-License-Identifier: Apache-2.0
#include "run/run_directory.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>
#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "base/atomic_file.h"
#include "base/checksum.h"
#include "base/error.h"
#include "base/log.h"
#include "base/message_text.h"
#include "run/model_folder.h"
#include "weights/byte_reader.h"

namespace myxtts {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLock = "lock";

[[noreturn]] void refuse(const fs::path& folder, const std::string& why) {
  throw DataError(
      fmt::format("The run directory {} cannot be used: {}. Give another with --checkpoint-dir.",
                  folder.string(), why));
}

std::string reason(int code, const fs::path& folder) {
  switch (code) {
    case EACCES:
    case EPERM:
      return "you may not write there";
    case EROFS:
      return "its disk is mounted read-only";
    case ENOSPC:
    case EDQUOT:
      return fmt::format("its disk is full (see df -h {})", folder.string());
    default:
      return std::generic_category().message(code);
  }
}

// The first part of the path that is there and is no folder; empty: there is none.
fs::path file_in_the_way(const fs::path& folder) {
  fs::path walked;
  for (const auto& part : folder) {
    walked /= part;
    std::error_code error;
    const auto status = fs::status(walked, error);
    if (fs::exists(status) && !fs::is_directory(status)) return walked;
  }
  return {};
}

// The first part of the path that is not there; empty: all of it is.
fs::path first_missing(const fs::path& folder) {
  fs::path walked;
  for (const auto& part : folder) {
    walked /= part;
    std::error_code error;
    if (!fs::exists(walked, error)) return walked;
  }
  return {};
}

// The list of clips may be all that an earlier start was allowed to leave.
bool holds_no_run(const fs::path& folder) {
  std::error_code unreadable;
  const auto entries = fs::directory_iterator(folder, unreadable);
  return std::all_of(begin(entries), end(entries),
                     [](const auto& entry) { return entry.path().filename() == "skipped.jsonl"; });
}

void make_folder_of_run(const fs::path& folder) {
  if (const auto file = file_in_the_way(folder); !file.empty()) {
    refuse(folder, fmt::format("{} is not a folder", file.string()));
  }
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) refuse(folder, reason(error.value(), folder));
}

std::string holder_of(int lock) {
  std::array<char, 32> digits{};
  const ssize_t count = ::pread(lock, digits.data(), digits.size() - 1, 0);
  const std::string text(digits.data(), count > 0 ? static_cast<std::size_t>(count) : 0);
  const auto number = text.substr(0, text.find_first_not_of("0123456789"));
  return number.empty() ? "another process" : "process " + number;
}

// Whoever watches runs asks for the lock, too, and has it for some microseconds.
bool locked_within_a_moment(int lock) {
  constexpr int kTries = 5;
  constexpr std::chrono::milliseconds kBetween{20};
  for (int tried = 1;; ++tried) {
    if (::flock(lock, LOCK_EX | LOCK_NB) == 0) return true;
    if (errno != EWOULDBLOCK || tried == kTries) return false;
    std::this_thread::sleep_for(kBetween);
  }
}

// Throws when another process holds it.
void take_lock(int lock, const fs::path& folder) {
  if (locked_within_a_moment(lock)) return;
  if (errno == EWOULDBLOCK) {
    throw DataError(
        fmt::format("The run directory {} is in use by {}; wait for its end, or give another with "
                    "--checkpoint-dir.",
                    folder.string(), holder_of(lock)));
  }
  log_warning("run", "The disk of {} knows no locks ({}): see to it that only one process uses it.",
              folder.string(), std::generic_category().message(errno));
}

}  // namespace

RunDirectory::RunDirectory(fs::path folder) : folder_(std::move(folder)) {
  made_ = first_missing(folder_);
  make_folder_of_run(folder_);
  is_new_ = holds_no_run(folder_);
  lock_ = ::open((folder_ / kLock).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (lock_ < 0) refuse(folder_, reason(errno, folder_));
  try {
    take_lock(lock_, folder_);
    if (::ftruncate(lock_, 0) != 0) refuse(folder_, reason(errno, folder_));
    detail::write_all(lock_, bytes_of(fmt::format("{}\n", ::getpid())), folder_ / kLock);
    if (::access(folder_.c_str(), W_OK | X_OK) != 0) refuse(folder_, reason(errno, folder_));
  } catch (...) {
    ::close(lock_);
    throw;
  }
}

RunDirectory::~RunDirectory() {
  ::close(lock_);  // the file stays: removing it would let two processes hold two of them
}

bool RunDirectory::has_checkpoints() const {
  return holds_checkpoints(folder_);
}

namespace {

// The file may lie in a folder of the folder; empty: nothing is kept.
void remove_all_but(const fs::path& kept, const fs::path& folder) {
  std::error_code failed;
  std::vector<fs::path> entries;
  for (const auto& entry : fs::directory_iterator(folder, failed)) entries.push_back(entry.path());
  for (const fs::path& entry : entries) {
    if (entry == kept) continue;
    const bool is_around =
        !kept.empty() && !kept.lexically_relative(entry).string().starts_with("..");
    if (is_around) {
      remove_all_but(kept, entry);
    } else {
      fs::remove_all(entry, failed);
    }
  }
}

}  // namespace

bool RunDirectory::discard_if_new(const fs::path& kept) const {
  std::error_code failed;
  // RUN/latest is also that of a part which has one.
  if (!is_new_ || has_checkpoints() || fs::exists(folder_ / "latest", failed)) return false;
  remove_all_but(kept, folder_);
  if (made_.empty()) return true;
  fs::path made = folder_.has_filename() ? folder_ : folder_.parent_path();     // "runs/voice/"
  while (fs::remove(made, failed) && made != made_) made = made.parent_path();  // what is empty
  return true;
}

std::string what_a_run_is(const std::filesystem::path& folder) {
  std::error_code unreadable;
  const bool of_stages = fs::exists(folder / kChainFile, unreadable);
  const bool is_run = of_stages || fs::is_directory(folder / "checkpoints", unreadable) ||
                      fs::exists(folder / "config.yaml", unreadable);
  if (!is_run) return {};
  const std::string what = of_stages ? "a run of several parts" : "a training run";
  if (fs::exists(folder / "latest" / files::kConfig, unreadable)) {
    return fmt::format(", but the folder of {}, whose newest model is {}", what,
                       (folder / "latest").string());
  }
  return fmt::format(
      ", but the folder of {} that has saved no model yet (myxtts train --config {} --resume "
      "continues it)",
      what, (folder / "config.yaml").string());
}

bool holds_checkpoints(const fs::path& run) {
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(run / "checkpoints", none)) {
    if (entry.path().filename().string().starts_with("step-")) return true;
  }
  return false;
}

namespace {

void refuse_second_run(const fs::path& run) {
  if (!holds_checkpoints(run)) return;
  throw DataError(fmt::format(
      "{} holds the checkpoints of an earlier run: continue it with --resume, or give the new run "
      "a folder of its own with --checkpoint-dir.",
      run.string()));
}

// A part of its own would take RUN/latest and RUN/config.yaml from them.
void refuse_folder_of_parts(const fs::path& run) {
  if (!fs::exists(run / kChainFile)) return;
  throw ConfigError(fmt::format(
      "{0} holds a run of several parts: continue it with myxtts train --config {0}/config.yaml "
      "--resume, or give this part a folder of its own with --checkpoint-dir.",
      run.string()));
}

std::optional<Checkpoint> newest(const RunDirectory& directory, const CheckpointStore& store) {
  if (!directory.has_checkpoints()) {
    log_info("run", "There is no checkpoint in {} yet: the run begins from the start.",
             directory.path().string());
    return {};
  }
  auto found = store.newest_valid();
  if (found) return found;
  throw DataError(fmt::format(
      "Every checkpoint in {} is damaged; begin again in another folder with --checkpoint-dir.",
      (directory / "checkpoints").string()));
}

void refuse_other_part(const fs::path& run, const fs::path& checkpoint, ModelPart part) {
  const std::string trained = read_training_state(checkpoint / files::kState).stage;
  if (trained == name_of(part)) return;
  throw ConfigError(fmt::format(
      "{0} trains the part {1}, and --stage is {2}. To continue it, type: myxtts train --config "
      "{0}/config.yaml --resume; to train {2} from the model it has, type: myxtts train --stage "
      "{2} --init {3} --checkpoint-dir DIR",
      run.string(), printable(trained), name_of(part), checkpoint.string()));
}

// Those that the next save removes.
void say_later_ones(const CheckpointStore& store, const Checkpoint& start) {
  const auto all = store.all();
  std::string steps;
  for (const auto& each : all) {
    if (each.step > start.step) steps += fmt::format("{}{}", steps.empty() ? "" : ", ", each.step);
  }
  if (steps.empty()) return;
  log_warning("run",
              "The run goes on from step {}: the checkpoints of later steps ({}) are removed with "
              "its next save.",
              start.step, steps);
}

std::string change_of(const char* what, const std::string& now, const std::string& was) {
  return fmt::format("{} ({}; was {})", what, now, printable(was));
}

// What changed of that which makes an epoch another one; empty: nothing.
std::string other_data(const TrainingState& state, const TrainingState& now) {
  std::string changes;
  if (state.corpus != now.corpus) {
    changes = change_of("the clips to train on", "fingerprint " + now.corpus, state.corpus);
  }
  if (state.rows != now.rows) {
    changes += changes.empty() ? "" : " and ";
    changes += change_of("how clips are drawn", now.rows, state.rows);
  }
  return changes;
}

void begin_epoch_again(TrainingState& state, const std::string& changes) {
  log_warning(
      "run",
      "Since the checkpoint of step {} was made, {} changed. The run goes on, and its epoch "
      "{} begins again; it will not be what it would have been without the change.",
      state.step, changes, state.position.epoch + 1);
  state.division = {.epoch = state.position.epoch};
  state.rest = state.division;
}

// See Note [An epoch divided anew].
void go_on_with_rest(TrainingState& state, const std::string& batches) {
  const std::int64_t visits = state.rest->visits;
  log_info("run", "Since the checkpoint of step {} was made, {} changed. Epoch {} {}.", state.step,
           change_of("how batches are made", batches, state.batches), state.position.epoch + 1,
           visits == 0 ? "has not begun"
                       : fmt::format("goes on in its order behind the {} trained",
                                     counted(visits, "clip that was", "clips that were")));
  state.division = *state.rest;
}

}  // namespace

void check_folder_of_run(const fs::path& run, const std::optional<std::string>& resume,
                         ModelPart part) {
  refuse_folder_of_parts(run);
  if (!resume) return refuse_second_run(run);
  if (*resume != "latest") folder_of_checkpoint(run, *resume);
  if (fs::exists(run / "latest" / files::kState)) refuse_other_part(run, run / "latest", part);
}

std::optional<Checkpoint> find_starting_point(const RunDirectory& directory,
                                              const CheckpointStore& store,
                                              const std::optional<std::string>& resume,
                                              ModelPart part) {
  refuse_folder_of_parts(directory.path());
  if (!resume) {
    refuse_second_run(directory.path());
    return {};
  }
  auto start = *resume == "latest" ? newest(directory, store) : store.at(*resume);
  if (!start) return start;
  refuse_other_part(directory.path(), start->folder, part);
  say_later_ones(store, *start);
  return start;
}

TrainingState continue_with(TrainingState state, const TrainingState& now) {
  const std::string other = other_data(state, now);
  if (other.empty() && state.batches == now.batches) return state;
  if (!other.empty()) {
    begin_epoch_again(state, other);
  } else if (state.rest) {
    go_on_with_rest(state, now.batches);
  } else {
    begin_epoch_again(state, change_of("how batches are made", now.batches, state.batches));
  }
  state.division_step = state.step;
  state.position.step = 0;
  state.corpus = now.corpus;
  state.rows = now.rows;
  state.batches = now.batches;
  return state;
}

}  // namespace myxtts
