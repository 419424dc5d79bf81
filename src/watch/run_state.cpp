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
#include "watch/file_state.h"

namespace myxtts {
namespace {

using Json = nlohmann::json;

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

RunState judged(const Json& record, Lock lock, double now) {
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
    status.is_damaged = FileState::of(run / "status.json").is_there();
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

namespace {

void add_note(Json& line, const char* code, std::string sentence, Json more = Json::object()) {
  more["code"] = code;
  line["notes"].push_back(std::move(sentence));
  line["note_codes"].push_back(std::move(more));
}

void add_damaged(Json& line, const char* file, std::int64_t count) {
  if (count == 0) return;
  add_note(
      line, "damaged-lines",
      fmt::format("{} has {}; {} left out.", file, counted(count, "damaged line", "damaged lines"),
                  count == 1 ? "it is" : "they are"),
      {{"file", file}, {"count", count}});
}

void add_missing_files(Json& line, const std::filesystem::path& run, const RunStatus& status) {
  if (status.is_damaged) {
    add_note(line, "damaged-file", "status.json is damaged, so how the run ended is not known.",
             {{"file", "status.json"}});
  } else if (status.record.empty()) {
    add_note(line, "no-status",
             "There is no status.json (an older version trained it, or it has just begun), so how "
             "the run ended is not known.");
  }
  for (const char* file : {"config.yaml", "plan.json", "metrics.jsonl", "log.txt"}) {
    if (FileState::of(run / file).is_there()) continue;
    add_note(line, "missing-file", fmt::format("{} is missing.", file), {{"file", file}});
  }
}

}  // namespace

void add_notes(Json& line, const std::filesystem::path& run, const RunStatus& status,
               const DamagedLines& damaged, std::int64_t unrecorded) {
  line["notes"] = Json::array();
  line["note_codes"] = Json::array();
  if (status.state != RunState::Preparing) add_missing_files(line, run, status);
  for (const auto& [file, count] : damaged) add_damaged(line, file, count);
  if (unrecorded == 0) return;
  add_note(line, "unrecorded-lines",
           fmt::format("metrics.jsonl lacks {} that a full disk did not take; log.txt says when.",
                       counted(unrecorded, "line", "lines")),
           {{"count", unrecorded}});
}

}  // namespace myxtts
