// SPDX-License-Identifier: Apache-2.0
#include "session/run_record.h"

#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <exception>
#include <utility>

#include "base/atomic_file.h"
#include "base/checksum.h"
#include "base/log.h"

namespace myxtts {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::chrono::seconds kBetweenSigns{5};
constexpr int kFarBehind = 10;  // of the priorities from 0 to 19
constexpr int kStatusVersion = 1;

double time_now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace

Json to_json(const PipelineReading& reading) {
  Json stages = Json::array();
  for (const StageReading& stage : reading.stages) {
    stages.push_back({{"name", stage.name},
                      {"workers", stage.workers},
                      {"busy", share_of(stage.load.busy, stage.load)},
                      {"waits_for_input", share_of(stage.load.waiting_for_input, stage.load)},
                      {"waits_for_output", share_of(stage.load.waiting_for_output, stage.load)}});
  }
  Json queues = Json::array();
  for (std::size_t i = 0; i < reading.queues.size(); ++i) {
    const QueueReading& queue = reading.queues[i];
    const auto stage_at = [&reading](std::size_t place) {
      return place < reading.stages.size() ? reading.stages[place].name : "trainer";
    };
    queues.push_back({{"name", queue.name},
                      {"from", stage_at(i)},
                      {"to", stage_at(i + 1)},
                      {"depth", queue.depth.current},
                      {"capacity", queue.capacity},
                      {"mean_depth", queue.depth.mean()}});
  }
  const ReadinessReading& ready = reading.readiness;
  const double waited = waited_share(reading);
  return {{"time", time_now()},
          {"stages", std::move(stages)},
          {"queues", std::move(queues)},
          {"trainer",
           {{"busy", 1 - waited},
            {"waits_for_input", waited},
            {"ready", ready.share()},
            {"steps", ready.steps},
            {"ready_steps", ready.ready},
            {"waited_seconds", ready.waited_seconds}}},
          {"memory",
           {{"decoded", reading.decoded_bytes},
            {"decoded_limit", reading.decoded_bytes_limit},
            {"staged", reading.staging_bytes}}}};
}

Json verdict_json(const PipelineReading& reading, const Advice& advice) {
  const PipelineJudgement judgement = judge(reading, advice);
  const bool has_stage = judgement.stage != nullptr;
  return {{"code", judgement.code},
          {"sentence", pipeline_verdict(reading, advice)},
          {"ready_steps", reading.readiness.ready},
          {"steps", reading.readiness.steps},
          {"ready", reading.readiness.share()},
          {"waited_share", waited_share(reading)},
          {"stage", has_stage ? Json(judgement.stage->name) : Json()},
          {"stage_busy", has_stage ? Json(judgement.stage_busy) : Json()},
          {"remedy", has_stage ? Json(judgement.remedy) : Json()}};
}

RunRecord::RunRecord(const std::filesystem::path& run, ModelPart stage, const std::string& version)
    : run_(run),
      stage_(name_of(stage)),
      version_(version),
      started_(time_now()),
      report_(run, version) {
  threads_.start("record", [this] { work(); });
}

RunRecord::~RunRecord() {
  end("stopped");
}

void RunRecord::begin(RecordedTraining training) {
  const std::lock_guard lock(mutex_);
  state_ = "running";
  step_ = training.first_step;
  began_ = time_now();
  training_ = std::move(training);
  woken_.notify_all();
}

void RunRecord::stepped(const StepReport& report) {
  step_.store(report.numbers.step, std::memory_order_relaxed);
}

void RunRecord::evaluated(const EvaluationReport&) {
  measured();
}

void RunRecord::measured() {
  const std::lock_guard lock(mutex_);
  is_report_due_ = true;
  woken_.notify_all();
}

void RunRecord::pause() {
  const std::lock_guard lock(mutex_);
  if (!training_ || !training_->meters) return;
  last_reading_ = training_->meters();
  training_->meters = {};
}

void RunRecord::end(const std::string& state, const std::string& sentence) {
  {
    const std::lock_guard lock(mutex_);
    if (is_ended_) return;
    is_ended_ = true;
    state_ = state;
    sentence_ = sentence;
    woken_.notify_all();
  }
  threads_.join();
  write_status();
  write_report();
}

void RunRecord::work() {
  ::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), kFarBehind);
  for (;;) {
    write_status();
    std::unique_lock lock(mutex_);
    woken_.wait_for(lock, kBetweenSigns, [this] { return is_ended_ || is_report_due_; });
    if (is_ended_) return;
    if (!std::exchange(is_report_due_, false)) continue;
    lock.unlock();
    write_report();
  }
}

Json RunRecord::status() const {
  const std::lock_guard lock(mutex_);
  const double now = time_now();
  const std::int64_t step = step_.load(std::memory_order_relaxed);
  Json json{{"version", kStatusVersion},
            {"program", version_},
            {"process", ::getpid()},
            {"state", state_},
            {"sentence", sentence_},
            {"stage", stage_},
            {"step", step},
            {"started", started_},
            {"updated", now}};
  if (!training_) return json;
  const auto steps = static_cast<double>(step - training_->first_step);
  json["first_step"] = training_->first_step;
  json["last_step"] = training_->last_step ? Json(*training_->last_step) : Json();
  json["steps_per_second"] = steps > 0 && now > began_ ? Json(steps / (now - began_)) : Json();
  json["example"] = {{"audio", training_->example.audio},
                     {"text", training_->example.text},
                     {"language", training_->example.language}};
  const auto reading = training_->meters ? std::optional(training_->meters()) : last_reading_;
  if (!reading) return json;
  json["pipeline"] = to_json(*reading);
  json["verdict"] = verdict_json(*reading, training_->advice);
  return json;
}

void RunRecord::write_status() {
  try {
    const std::string text = status().dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
    write_file_atomically(run_ / "status.json", bytes_of(text));
  } catch (const std::exception& error) {
    log_debug("train", "{}", error.what());  // the checkpoints say it where a disk is full
  }
}

void RunRecord::write_report() {
  try {
    report_.write();
  } catch (const std::exception& error) {
    if (std::exchange(has_warned_, true)) return;
    log_warning("train", "The report of the run was not written: {}", error.what());
  }
}

}  // namespace myxtts
