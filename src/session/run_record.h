// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <mutex>
#include <optional>
#include <string>

#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/thread_group.h"
#include "config/run_config.h"
#include "data/layouts/manifest.h"
#include "pipeline/pipeline_reading.h"
#include "session/run_report.h"
#include "train/observer.h"
#include "watch/report_file.h"

namespace myxtts {

// How the training of a run begins, for its record.
struct RecordedTraining {
  std::int64_t first_step = 0;
  std::optional<std::int64_t> last_step = {};  // nothing: not known
  ManifestEntry example = {};                  // a clip to hear the model by
  Advice advice = {};
  std::function<PipelineReading()> meters;  // of the pipeline that feeds it; any thread
};

// Keeps what others see of a run while it goes on: RUN/status.json, a sign of life every few
// seconds, and RUN/report.html, anew with every measurement and at the end. A thread to which all
// others go first does that; the trainer's waits for nothing. A disk that refuses a file costs the
// file, not the run.
//
//   RunRecord(...) ──▶ begin() ──stepped()*──▶ pause() ──▶ end()
class RunRecord final : public TrainingObserver {
 public:
  // `version` is the program's.
  RunRecord(const std::filesystem::path& run, ModelPart stage, const std::string& version);
  RunRecord(const RunRecord&) = delete;
  RunRecord& operator=(const RunRecord&) = delete;
  ~RunRecord() override;  // without end(): it was stopped

  void begin(RecordedTraining training);
  void stepped(const StepReport& report) override;
  void evaluated(const EvaluationReport& report) override;
  void measured();  // samples or the like were added: the report is written anew. Any thread
  void pause();     // the pipeline is about to go

  // `state` as status.json calls it, and the sentence of a failure. Returns when both files are
  // written.
  void end(const std::string& state, const std::string& sentence = {});

 private:
  void work();
  nlohmann::ordered_json status() const;
  void write_status();
  void write_report();

  const std::filesystem::path run_;
  const std::string stage_;
  const std::string version_;
  const double started_;
  std::atomic<std::int64_t> step_ = 0;
  ReportFile report_;        // the thread's, and end()'s after it
  bool has_warned_ = false;  // so is this

  mutable std::mutex mutex_;
  // Everything below is guarded by mutex_.
  std::condition_variable woken_;
  std::string state_ = "preparing";
  std::string sentence_;
  std::optional<RecordedTraining> training_;
  double began_ = 0;  // to train
  std::optional<PipelineReading> last_reading_;
  bool is_report_due_ = false;
  bool is_ended_ = false;
  ThreadGroup threads_;  // last: it uses everything above
};

// As status.json has them.
nlohmann::ordered_json to_json(const PipelineReading& reading);
nlohmann::ordered_json verdict_json(const PipelineReading& reading, const Advice& advice);

}  // namespace myxtts
