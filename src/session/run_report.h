// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/progress.h"
#include "config/effective_config.h"
#include "config/run_config.h"
#include "data/corpus.h"
#include "data/layouts/manifest.h"
#include "device/nvml.h"
#include "device/plan/device_plan.h"
#include "device/plan/start_messages.h"
#include "device/role_device.h"
#include "pipeline/pipeline_reading.h"
#include "run/run_directory.h"
#include "train/observer.h"
#include "watch/curve.h"

namespace myxtts {

// Writes RUN/config.yaml, which means the same from any working directory. Throws DataError.
void write_settings(const std::filesystem::path& run, const EffectiveConfig& config);

// Each line on its own, to the screen and to RUN/log.txt.
void say(const Lines& lines);

// What continues the run: "myxtts train --config RUN/config.yaml --resume".
std::string resume_command(const std::filesystem::path& run);

// A clip of the corpus to hear a model by, one that was not trained on where there is any: its
// audio, text and language.
ManifestEntry example_of(const Corpus& corpus);

// RUN/latest at the end of a run.
struct TrainedModel {
  std::vector<ModelPart> untrained = {};  // of the parts that a model speaks with
  std::optional<std::string> size = {};   // as --model-size calls it; nothing: one of its own
  bool can_be_exported = false;           // coqui-tts can hold it
};

// "its dvae and decoder were not trained", for messages.
std::string were_not_trained(const std::vector<ModelPart>& parts);

// What to type after a run that ended well: how to hear its model, to measure it and to export it.
// Of a model with parts that nobody trained: which stages are missing, and how to train them.
std::string next_commands(const RunConfig& config, const std::filesystem::path& run,
                          const ManifestEntry& example, const TrainedModel& model);

// What can be advised to a run, as not every run may have it.
struct Advice {
  bool cache = true;    // --cache-dataset
  bool profile = true;  // myxtts profile with the same settings
};
Advice advice_for(const RunConfig& config);

// Whether the model device had its batches in time, and if not, which stage held it up and the one
// thing to change: a sentence or two. From the waiting times of the stages alone.
std::string pipeline_verdict(const PipelineReading& reading, const Advice& advice = {});

// The same as status.json has it.
struct PipelineJudgement {
  std::string code;                     // "kept-up", "mostly-kept-up", "held-up" or "no-step"
  const StageReading* stage = nullptr;  // that held training up, of the reading
  double stage_busy = 0;                // share of its time
  std::string remedy = {};              // the one thing to change
};
PipelineJudgement judge(const PipelineReading& reading, const Advice& advice = {});

// Time the model device spent waiting, of all its time.
double waited_share(const PipelineReading& reading);

// What a run did, for its end.
struct RunSummary {
  std::int64_t first_step = 0;
  std::int64_t last_step = 0;
  std::int64_t skipped_steps = 0;
  bool is_at_end = false;  // as the settings have it
  double seconds = 0;      // of this process' training
  double audio_seconds = 0;
  std::optional<double> first_loss = {};  // mean of the first few steps
  std::optional<double> last_loss = {};   // of the last few
  std::optional<double> best_validation_loss = {};
  std::optional<std::int64_t> best_step = {};  // where that was; nothing: not known
  std::optional<double> last_validation_loss = {};
  std::int64_t samples = 0;               // of the last measurement
  std::filesystem::path samples_in = {};  // their folder
  PipelineReading pipeline = {};
  Advice advice = {};
};

// Several lines: steps and speed, losses, and the verdict where the pipeline held training up.
std::string describe(const RunSummary& summary);

// How each stage of the pipeline did, for --verbose and the log.
std::string plumbing(const RunSummary& summary);

// Adds up what the summary at the end of a run shows. The trainer's thread.
class RunTally final : public TrainingObserver {
 public:
  static constexpr std::size_t kFew = 10;  // steps that a loss is the mean of, at most

  void stepped(const StepReport& report) override;
  void evaluated(const EvaluationReport& report) override;

  double audio_seconds() const { return audio_seconds_; }
  std::optional<std::int64_t> best_step() const { return best_step_; }  // of this process
  std::optional<double> last_validation() const { return last_validation_; }
  std::optional<double> first_loss() const;  // of the first few steps that counted
  std::optional<double> last_loss() const;   // of the last few

 private:
  std::size_t few() const;

  std::size_t steps_ = 0;  // that counted
  std::optional<std::int64_t> best_step_;
  std::optional<double> last_validation_;
  double audio_seconds_ = 0;
  std::deque<double> first_;
  std::deque<double> last_;
};

struct TrainingProgressOptions {
  std::string title = "Training";
  std::int64_t first_step = 0;
  std::optional<std::int64_t> last_step = {};  // nothing: not known
  std::optional<Clock::Time> deadline = {};    // where --max-minutes end it
  std::optional<double> most_seconds = {};     // of training, where a clock ends it
  double seconds_before = 0;                   // of training, by earlier processes
  std::vector<std::string> loss_names = {};    // PartTraining's
  std::function<PipelineReading()> meters;     // of the pipeline that feeds it
  // Bytes that each role holds, where two roles share a card; empty: not shown.
  std::function<std::int64_t(Role)> memory = {};
};

// Shows a run while it trains: a bar on a terminal, plain lines elsewhere. Loss, time left and the
// share of batches that were ready come first, then the use and memory of the GPUs:
//
//   Training:  45 %  3 min 05 s left  loss 4.3210  validation 4.1000  ready 100 %
//       data GPU 0: 12 % 1.2 GB  model GPU 1: 98 % 31.0 GB  3.1/s  450 of 1,000
//       epoch 3  lr 5e-06  24.8 clips/s  61 hours of speech an hour
//
// A terminal of 80 columns has one line, with the loss drawn small at its end:
//
//   Training:  45 %  3 min 05 s left  loss 4.32  val 4.1  ready 100 %  3.1/s  █▅▃▁
//
// Rates are those since the last time it drew. The trainer's thread; nothing waits for a device.
class ProgressObserver final : public TrainingObserver {
 public:
  // Asks the GPUs of the plan for their use, where there are any.
  ProgressObserver(const DevicePlan& plan, const TrainingProgressOptions& options,
                   Screen& screen = standard_screen(), const Clock& clock = system_clock());

  void stepped(const StepReport& report) override;
  void evaluated(const EvaluationReport& report) override;

  // The bar gives way to a line with the sum. No step may be reported afterwards.
  void finish() { progress_.reset(); }

 private:
  ProgressNote note(const StepReport& report);
  std::vector<std::string> losses_in_words(double loss) const;
  void add_gpus(std::vector<std::string>& figures) const;
  void add_gpus_in_short(std::vector<std::string>& figures) const;

  const TrainingProgressOptions options_;
  const Clock& clock_;
  const DevicePlan plan_;
  const bool is_one_line_;              // a terminal's, with little room
  std::unique_ptr<GpuMeter> data_gpu_;  // null: the role has no card of its own
  std::unique_ptr<GpuMeter> model_gpu_;
  std::optional<Progress> progress_;  // until finish()

  Curve losses_;
  std::optional<double> validation_;  // the last

  // Since the last note.
  Clock::Time since_;
  const Clock::Time begun_;
  std::int64_t clips_ = 0;
  double audio_seconds_ = 0;
};

}  // namespace myxtts
