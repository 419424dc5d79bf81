// SPDX-License-Identifier: Apache-2.0
#include "watch/run_state.h"

#include <fcntl.h>
#include <sys/file.h>

#include <array>
#include <cerrno>
#include <utility>

#include <fmt/format.h>

#include "base/files.h"
#include "base/message_text.h"
#include "watch/file_glance.h"

namespace myxtts {
namespace {

constexpr double kFresh = 30.0;  // seconds: a record that is no older is of a living process

constexpr std::array<std::pair<RunState, const char*>, 8> kStates = {
    {{RunState::Preparing, "preparing"},
     {RunState::Running, "running"},
     {RunState::Finished, "finished"},
     {RunState::Stopped, "stopped"},
     {RunState::OutOfTime, "out-of-time"},
     {RunState::Failed, "failed"},
     {RunState::Killed, "killed"},
     {RunState::Unknown, "unknown"}}};

RunState state_named(const std::string& name) {
  for (const auto& [state, own] : kStates) {
    if (name == own) return state;
  }
  return RunState::Unknown;
}

enum class Lock { Free, Held, Unknown };  // Unknown: the disk knows no locks

// A run that begins in this very moment tries again (RunDirectory), so that asking never keeps one
// from its folder.
Lock lock_of(const std::filesystem::path& run) {
  const OpenFile lock(::open((run / "lock").c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (lock.get() < 0 || ::flock(lock.get(), LOCK_SH | LOCK_NB) == 0) return Lock::Free;
  return errno == EWOULDBLOCK ? Lock::Held : Lock::Unknown;
}

RunState judged(const nlohmann::json& record, Lock lock, double now) {
  const RunState said = state_named(text_in(record, "state"));
  const bool is_under_way = said == RunState::Preparing || said == RunState::Running;
  if (lock == Lock::Held) return is_under_way ? said : RunState::Preparing;
  if (!is_under_way) return said;
  const bool is_fresh = now - number_in(record, "updated").value_or(0) < kFresh;
  return lock == Lock::Unknown && is_fresh ? said : RunState::Killed;
}

}  // namespace

const char* name_of(RunState state) {
  for (const auto& [known, name] : kStates) {
    if (known == state) return name;
  }
  return "unknown";
}

RunStatus RunStatus::of(const std::filesystem::path& run, double now) {
  RunStatus status;
  if (auto record = read_object(run / "status.json")) {
    status.record = std::move(*record);
  } else {
    status.is_damaged = FileGlance::of(run / "status.json").is_there();
  }
  status.state = judged(status.record, lock_of(run), now);
  return status;
}

std::string sentence_of(const RunStatus& status, std::int64_t step,
                        std::optional<std::int64_t> last_step) {
  const std::string at = step > 0 ? "at step " + human_count(step) : "before its first step";
  switch (status.state) {
    case RunState::Preparing:
      return "It reads the corpus and the model; no step was trained yet.";
    case RunState::Running:
      return last_step && *last_step > 0
                 ? fmt::format("Training, {} % done.", 100 * step / *last_step)
                 : "Training.";
    case RunState::Finished:
      return fmt::format("Finished {}.", at);
    case RunState::Stopped:
      return fmt::format("Stopped {}; it can be resumed.", at);
    case RunState::OutOfTime:
      return fmt::format("The minutes of --max-minutes were over {}; it can be resumed.", at);
    case RunState::Failed: {
      const std::string said = text_in(status.record, "sentence");
      return said.empty() ? "It failed; its log says why." : said;
    }
    case RunState::Killed:
      return fmt::format(
          "Its process ended {} without saying how; what was saved is whole, and it can be "
          "resumed.",
          at);
    case RunState::Unknown:
      break;
  }
  return "How it ended is not recorded.";
}

}  // namespace myxtts
