// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "base/bounded_queue.h"
#include "base/thread_group.h"
#include "model/named_tensors.h"
#include "run/event_file.h"
#include "session/samples/part_samples.h"
#include "session/samples/sample_judge.h"
#include "train/observer.h"
#include "train/step/part_training.h"

namespace myxtts {

// Who listens to samples, and what takes the verdicts, in the trainer's thread.
struct SampleJudging {
  std::unique_ptr<const SampleJudge> judge = {};  // null: nobody
  std::function<void(const SampleVerdict&)> take = {};
};

// Makes samples with the weights of every validation and of the end: RUN/samples/step-NNNNNNN/
// holds a WAV, a PNG and the text of each, and RUN/samples/events.out.tfevents.* the same for
// TensorBoard. That is done on the CPU, by a thread of its own to which all others go first, while
// training goes on. A validation that comes while it is still at work is left out, and that is
// said.
//
// With a judge the same thread has them listened to; what was heard is beside each sample as
// 01-heard.txt, its scores as 01.json, and the verdict is handed over with the trainer's next step.
//
// The trainer's thread calls it. Training and model outlive it.
class ValidationSamples final : public TrainingObserver {
 public:
  // `start` is the model as the run began with it; the weights that are trained take their places.
  // Its thread calls `made` when those of a step are there.
  ValidationSamples(const std::filesystem::path& run, PartTraining& training,
                    const OpenModel& start, SampleMaker make_samples, SampleJudging judging = {},
                    std::function<void()> made = {});
  ~ValidationSamples() override;  // waits for what is being made, or for its end after stop()

  void stepped(const StepReport&) override { hand_over(); }
  void evaluated(const EvaluationReport& report) override;

  // Those of the last step, unless they are made already, whatever is still at work. Waits for
  // them, or for stop(). Nothing comes after it.
  void finish(std::int64_t step);

  // The verdicts that are there go to whoever takes them.
  void hand_over();

  // Whatever is being made ends within about a second. Waits for nothing.
  void stop();

 private:
  struct Job {
    std::int64_t step = 0;
    NamedTensors weights = {};  // on the CPU
  };

  Job job_of(std::int64_t step) const;
  void work();
  void make(const Job& job);
  void judge(const std::vector<SamplePair>& pairs, const OpenModel& model, const Job& job,
             const std::filesystem::path& folder);
  OpenModel model_with(const NamedTensors& weights) const;
  void keep(const Sample& sample, std::int64_t step, const std::filesystem::path& folder);

  const std::filesystem::path folder_;  // RUN/samples
  PartTraining& training_;
  const OpenModel& start_;
  const SampleMaker make_samples_;
  const SampleJudging judging_;
  const std::function<void()> made_;
  std::mutex mutex_;
  std::vector<SampleVerdict> verdicts_;  // guarded by mutex_; those that were not handed over yet
  std::int64_t last_ = -1;               // step that was handed to the thread
  bool finished_ = false;
  std::optional<EventFile> events_;  // the thread's, from its first sample on
  std::atomic<bool> stopped_ = false;
  std::atomic<bool> busy_ = false;
  BoundedQueue<Job> jobs_;
  ThreadGroup threads_;  // last: it uses everything above
};

}  // namespace myxtts
