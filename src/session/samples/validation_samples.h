// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>

#include "base/bounded_queue.h"
#include "base/thread_group.h"
#include "model/named_tensors.h"
#include "run/event_file.h"
#include "session/samples/part_samples.h"
#include "train/observer.h"
#include "train/step/part_training.h"

namespace myxtts {

// Makes samples with the weights of every validation and of the end: RUN/samples/step-NNNNNNN/
// holds a WAV, a PNG and the text of each, and RUN/samples/events.out.tfevents.* the same for
// TensorBoard. That is done on the CPU, by a thread of its own to which all others go first, while
// training goes on. A validation that comes while it is still at work is left out, and that is
// said.
//
// The trainer's thread calls it. Training and model outlive it.
class ValidationSamples final : public TrainingObserver {
 public:
  // `start` is the model as the run began with it; the weights that are trained take their places.
  // Its thread calls `made` when those of a step are there.
  ValidationSamples(const std::filesystem::path& run, PartTraining& training,
                    const OpenModel& start, SampleMaker make_samples,
                    std::function<void()> made = {});
  ~ValidationSamples() override;  // waits for what is being made, or for its end after stop()

  void stepped(const StepReport&) override {}
  void evaluated(const EvaluationReport& report) override;

  // Those of the last step, unless they are made already, whatever is still at work. Waits for
  // them, or for stop(). Nothing comes after it.
  void finish(std::int64_t step);

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
  OpenModel model_with(const NamedTensors& weights) const;
  void keep(const Sample& sample, std::int64_t step, const std::filesystem::path& folder);

  const std::filesystem::path folder_;  // RUN/samples
  PartTraining& training_;
  const OpenModel& start_;
  const SampleMaker make_samples_;
  const std::function<void()> made_;
  std::int64_t last_ = -1;  // step that was handed to the thread
  bool finished_ = false;
  std::optional<EventFile> events_;  // the thread's, from its first sample on
  std::atomic<bool> stopped_ = false;
  std::atomic<bool> busy_ = false;
  BoundedQueue<Job> jobs_;
  ThreadGroup threads_;  // last: it uses everything above
};

}  // namespace myxtts
