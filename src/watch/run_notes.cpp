// SPDX-License-Identifier: Apache-2.0
#include "watch/run_notes.h"

#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/message_text.h"
#include "watch/file_glance.h"

namespace myxtts {
namespace {

using Json = nlohmann::json;

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

void add_missing_files(Json& line, const NotedRun& run) {
  if (run.status.is_damaged) {
    add_note(line, "damaged-file", "status.json is damaged, so how the run ended is not known.",
             {{"file", "status.json"}});
  } else if (run.status.record.empty()) {
    add_note(line, "no-status",
             "There is no status.json (an older version trained it, or it has just begun), so how "
             "the run ended is not known.");
  }
  for (const char* file : {"config.yaml", "plan.json", "metrics.jsonl", "log.txt"}) {
    if (FileGlance::of(run.folder / file).is_there()) continue;
    add_note(line, "missing-file", fmt::format("{} is missing.", file), {{"file", file}});
  }
}

// Lines that the run itself could not write.
void add_unrecorded(Json& line, const MetricsReader& metrics) {
  const auto lost = metrics.curves().find("unrecorded/lines");
  if (lost == metrics.curves().end() || lost->second.all().finite == 0) return;
  const auto count = static_cast<std::int64_t>(lost->second.all().sum);
  add_note(line, "unrecorded-lines",
           fmt::format("metrics.jsonl lacks {} that a full disk did not take; log.txt says when.",
                       counted(count, "line", "lines")),
           {{"count", count}});
}

}  // namespace

void add_notes(Json& line, const NotedRun& run) {
  line["notes"] = Json::array();
  line["note_codes"] = Json::array();
  if (run.status.state != RunState::Preparing) add_missing_files(line, run);
  add_damaged(line, "metrics.jsonl", run.metrics.damaged());
  add_damaged(line, "skipped.jsonl", run.damaged_skipped);
  add_damaged(line, "suspicious.jsonl", run.damaged_suspicious);
  add_unrecorded(line, run.metrics);
}

}  // namespace myxtts
