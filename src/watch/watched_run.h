// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "watch/clip_list.h"
#include "watch/file_state.h"
#include "watch/metrics_reader.h"
#include "watch/run_commands.h"
#include "watch/run_finder.h"
#include "watch/run_samples.h"
#include "watch/run_settings.h"
#include "watch/run_state.h"

namespace myxtts {

// What is asked of the curves of a run.
struct CurvesWanted {
  std::set<std::string> names = {};  // empty: all
  std::int64_t from = 0;
  std::int64_t to = std::numeric_limits<std::int64_t>::max();
  std::size_t points = 1000;
};

// Where somebody who follows a run is.
struct FollowedPlace {
  std::int64_t generation = 0;
  std::uint64_t position = 0;  // of metrics.jsonl
};

// A run directory as it is on the disk at each moment, in the JSON of docs/reference/watch.md. What
// is missing, damaged or half-written is named in notes; nothing throws because of it. Files are
// read again when they changed. Any thread.
class WatchedRun {
 public:
  explicit WatchedRun(FoundRun found);

  const FoundRun& found() const { return found_; }
  bool is_there() const;

  nlohmann::json line();   // what the overview shows
  nlohmann::json facts();  // the answer of /api/run
  nlohmann::json curves(const CurvesWanted& wanted);
  nlohmann::json samples();
  // `list` is "skipped" or "suspicious".
  nlohmann::json clips(const std::string& list, std::size_t from, std::size_t count,
                       const std::string& reason, bool with_sounds);
  std::optional<std::filesystem::path> sound_of_clip(const std::string& list, std::size_t index);
  nlohmann::json log(std::int64_t from) const;
  std::vector<KeptSetting> settings();
  std::set<std::string> curve_names();
  std::string mark_of_samples();  // changes when one is added

  FollowedPlace place();
  // The lines that were added since, by name; `place` moves on. Null: the file was cut or replaced,
  // so that all of it is new.
  nlohmann::json points_since(FollowedPlace& place);

 private:
  // With mutex_ held.
  void look();
  nlohmann::json line_now();
  nlohmann::json curve_list() const;
  nlohmann::json checkpoints() const;
  nlohmann::json model_and_commands();
  ExampleClip example_clip() const;
  std::string value_of(std::string_view key) const;
  nlohmann::json totals();
  std::string part_now() const;
  std::optional<double> last_of(std::string_view curve) const;
  std::int64_t unrecorded_lines() const;
  ClipList& list_named(const std::string& name);

  const FoundRun found_;
  const std::filesystem::path& folder_;

  // Everything below is guarded by mutex_.
  std::mutex mutex_;
  MetricsReader metrics_;
  RunStatus status_;
  ClipList skipped_;
  ClipList suspicious_;
  FileState config_state_;
  std::vector<KeptSetting> settings_;
  std::filesystem::path latest_;  // what RUN/latest pointed at when it was looked into
  LatestModel model_;
  FileState samples_state_;
  FileState newest_samples_;
  SampleCount sample_count_;
};

}  // namespace myxtts
