// SPDX-License-Identifier: Apache-2.0
#include "pipeline/pipeline_reading.h"

#include <map>
#include <mutex>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "base/message_text.h"
#include "base/trace.h"

namespace myxtts {

double share_of(std::chrono::nanoseconds part, const LoadReading& load) {
  const auto all = load.busy + load.waiting_for_input + load.waiting_for_output;
  return all.count() == 0 ? 0.0
                          : static_cast<double>(part.count()) / static_cast<double>(all.count());
}

namespace {

template <typename Readings>
const auto& named(const Readings& readings, std::string_view name) {
  for (const auto& reading : readings) {
    if (reading.name == name) return reading;
  }
  throw InternalError(fmt::format("the pipeline has no '{}'", name));
}

}  // namespace

double ReadinessReading::share() const {
  return steps == 0 ? 1.0 : static_cast<double>(ready) / static_cast<double>(steps);
}

const StageReading& PipelineReading::stage(std::string_view name) const {
  return named(stages, name);
}

const QueueReading& PipelineReading::queue(std::string_view name) const {
  return named(queues, name);
}

PipelineReading between(const PipelineReading& earlier, const PipelineReading& later) {
  PipelineReading reading = later;
  for (StageReading& stage : reading.stages) {
    const StageReading& before = earlier.stage(stage.name);
    stage.load = stage.load - before.load;
    stage.clips -= before.clips;
    stage.cpu_seconds -= before.cpu_seconds;
  }
  for (QueueReading& queue : reading.queues) {
    const DepthReading& before = earlier.queue(queue.name).depth;
    queue.depth.observed -= before.observed;
    queue.depth.empty -= before.empty;
    queue.depth.item_seconds -= before.item_seconds;
  }
  reading.batches -= earlier.batches;
  reading.readiness.steps -= earlier.readiness.steps;
  reading.readiness.ready -= earlier.readiness.ready;
  reading.readiness.waited_seconds -= earlier.readiness.waited_seconds;
  reading.readiness.step_seconds -= earlier.readiness.step_seconds;
  reading.readiness.step_squares -= earlier.readiness.step_squares;
  for (auto device : {&PipelineReading::data_device, &PipelineReading::model_device}) {
    (reading.*device).batches -= (earlier.*device).batches;
    (reading.*device).busy_seconds -= (earlier.*device).busy_seconds;
  }
  FeatureTimeReading& features = reading.features;
  features.batches -= earlier.features.batches;
  features.upload_seconds -= earlier.features.upload_seconds;
  features.encode_seconds -= earlier.features.encode_seconds;
  features.prompt_seconds -= earlier.features.prompt_seconds;
  features.transfer_seconds -= earlier.features.transfer_seconds;
  features.sending_seconds -= earlier.features.sending_seconds;
  features.transfer_bytes -= earlier.features.transfer_bytes;
  return reading;
}

std::string describe(const PipelineReading& reading) {
  std::string text;
  for (const StageReading& stage : reading.stages) {
    text += fmt::format(
        "{:<9} {:>3} {:<7}  busy {:>3.0f} %  waits for input {:>3.0f} %  for output {:>3.0f} %\n",
        stage.name, stage.workers, stage.workers == 1 ? "thread" : "threads",
        100 * share_of(stage.load.busy, stage.load),
        100 * share_of(stage.load.waiting_for_input, stage.load),
        100 * share_of(stage.load.waiting_for_output, stage.load));
  }
  for (const QueueReading& queue : reading.queues) {
    text += fmt::format("{:<9} {:>3} of {:<4}  {:.1f} on average\n", queue.name,
                        queue.depth.current, queue.capacity, queue.depth.mean());
  }
  text += fmt::format("memory    {} decoded (at most {}), {} staged\n",
                      human_size(reading.decoded_bytes), human_size(reading.decoded_bytes_limit),
                      human_size(reading.staging_bytes));
  text += fmt::format("ready     {:.1f} % of {}\n", 100 * reading.readiness.share(),
                      counted(reading.readiness.steps, "step"));
  return text;
}

void trace_reading(const PipelineReading& reading) {
  if (!tracing()) return;
  TraceLane& lane = trace_lane("queues");
  const auto now = system_clock().now();
  // A trace keeps the names' addresses, so they are those of literals.
  static const std::map<std::string, const char*, std::less<>> kCurves = {
      {"clips", "clips to decode"},
      {"buffer", "decoded batches"},
      {"settled", "settled batches"},
      {"staged", "staged batches"},
      {"ring", "batches in the ring"}};
  for (const QueueReading& queue : reading.queues) {
    const auto curve = kCurves.find(queue.name);
    MYXTTS_CHECK(curve != kCurves.end(), "the queue '{}' has no curve", queue.name);
    lane.count(curve->second, now, static_cast<double>(queue.depth.current));
  }
}

StepClock::StepClock(std::function<Event()> make_event, const Stream& model_stream)
    : make_event_(std::move(make_event)), stream_(model_stream) {
  Event anchor = make_event_();
  anchor.record(stream_);
  timeline_.set_anchor(std::move(anchor), system_clock().now());
}

void StepClock::asked() {
  if (!asking_) asking_.emplace(new_step());
  asking_->asked.record(stream_);
}

void StepClock::got(const Event& filled, std::int64_t number) {
  MYXTTS_CHECK(asking_.has_value(), "batch {} came without being asked for", number);
  filled.hold_up(stream_);
  asking_->got.record(stream_);
  asking_->number = number;
  steps_.push_back(std::move(*asking_));
  asking_.reset();
  count_ended();
  if (steps_.size() > kStepsAhead + 1) {
    steps_[steps_.size() - 1 - kStepsAhead].asked.wait();
    count_ended();
  }
}

StepClock::Step StepClock::new_step() {
  if (unused_.empty()) return {.asked = make_event_(), .got = make_event_()};
  Step step = std::move(unused_.back());
  unused_.pop_back();
  return step;
}

// A step has ended where the next one was asked for.
void StepClock::count_ended() {
  while (steps_.size() >= 2 && steps_[1].asked.completed()) {
    count(steps_[0], steps_[1].asked);
    unused_.push_back(std::move(steps_[0]));
    steps_.pop_front();
  }
}

void StepClock::count(const Step& step, const Event& ended) {
  const double waited = step.got.milliseconds_since(step.asked);
  const double busy = ended.milliseconds_since(step.got);
  if (tracing()) {
    TraceLane& lane = trace_lane("model stream");
    const auto from = timeline_.time_of(step.got);
    if (waited > kReadyMilliseconds) {
      lane.add("wait for data", timeline_.time_of(step.asked), from, step.number);
    }
    lane.add("step", from, timeline_.time_of(ended), step.number);
  }
  const std::lock_guard lock(mutex_);
  ++readiness_.steps;
  if (waited <= kReadyMilliseconds) ++readiness_.ready;
  readiness_.waited_seconds += waited / 1000;
  const double whole = (waited + busy) / 1000;
  readiness_.step_seconds += whole;
  readiness_.step_squares += whole * whole;
  ++device_time_.batches;
  device_time_.busy_seconds += busy / 1000;
}

ReadinessReading StepClock::readiness() const {
  const std::lock_guard lock(mutex_);
  return readiness_;
}

DeviceTimeReading StepClock::device_time() const {
  const std::lock_guard lock(mutex_);
  return device_time_;
}

}  // namespace myxtts
