// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/clock.h"
#include "run/event_file.h"
#include "run/metrics_log.h"
#include "run/training_state.h"
#include "train/observer.h"

namespace myxtts {

using NamedHistograms = std::map<std::string, HistogramCounts>;

struct MetricsSettings {
  std::int64_t log_steps = 10;                       // between two lines
  std::vector<std::string> loss_names = {};          // PartTraining's
  TrainingState start = {};                          // what the run goes on from
  std::function<Metrics()> gauges = {};              // added to each line: readiness, memory ...
  std::function<NamedHistograms()> histograms = {};  // written with each evaluation; nothing: none
  const Clock* clock = &system_clock();
};

// Logs the numbers of a run to metrics.jsonl and to TensorBoard alike
// (docs/reference/run-directory.md): every log_steps steps a line "train", after each evaluation a
// line "validation", for each step that was left out a line "skipped", and "samples" for those that
// were judged. A name x of event e is
// the curve e/x in TensorBoard.
//
// What the disk does not take is said once, and training goes on without it. As soon as there is
// room, a line "unrecorded" says which steps are missing, and both files go on.
class MetricsObserver final : public TrainingObserver {
 public:
  // `run` is the folder of the run. Throws DataError when the files cannot be opened.
  MetricsObserver(const std::filesystem::path& run, const MetricsSettings& settings);

  void stepped(const StepReport& report) override;
  void evaluated(const EvaluationReport& report) override;

  // What a recogniser heard in the samples of a step, which may be an earlier one: a line
  // "samples".
  void judged(std::int64_t step, const Metrics& metrics) { add("samples", step, metrics); }

  std::uint64_t position() const { return log_.position(); }  // for TrainingState

 private:
  // One of the two files, and the lines that it lacks because the disk did not take them.
  struct Record {
    std::filesystem::path file;
    std::function<void(std::span<const MetricsLine>)> write;  // all or nothing
    std::int64_t first_missing = 0;                           // steps
    std::int64_t last_missing = 0;
    std::int64_t missing = 0;  // lines; 0: none
  };

  void add(const std::string& event, std::int64_t step, const Metrics& metrics);
  void add(Record& record, const MetricsLine& line);
  void add_histograms(std::int64_t step);
  void add_losses(const std::vector<double>& losses, Metrics& metrics) const;
  Metrics pace();

  const MetricsSettings settings_;
  MetricsLog log_;
  EventFile events_;
  Clock::Time since_;  // the last line, and what came after it:
  double clips_ = 0;
  double audio_seconds_ = 0;
  std::int64_t skipped_steps_;
  std::array<Record, 2> records_;
};

}  // namespace myxtts
