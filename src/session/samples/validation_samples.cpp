// SPDX-License-Identifier: Apache-2.0
#include "session/samples/validation_samples.h"

#include <sys/resource.h>
#include <unistd.h>

#include <exception>
#include <string>
#include <system_error>
#include <utility>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <c10/core/GradMode.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/atomic_file.h"
#include "base/checksum.h"
#include "base/files.h"
#include "base/log.h"
#include "base/message_text.h"
#include "synth/sound_writer.h"

namespace myxtts {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLargestSound = std::size_t{256} << 20U;  // bytes
constexpr int kBehind = 5;                                      // of the priorities from 0 to 19

// Training comes first; at the lowest priority of all, though, a busy machine would never get to
// it.
void give_way() {
  at::set_num_threads(1);
  ::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), kBehind);
}

// LibTorch's errors go on with where in it they came up.
std::string first_line(const std::exception& error) {
  const std::string all = error.what();
  return all.substr(0, all.find('\n'));
}

// A sample with a text comes before the recording beside it.
void add_to(std::vector<SamplePair>& pairs, const Sample& sample) {
  if (!sample.text.empty()) {
    pairs.push_back({.sample = sample, .recording = {}});
  } else if (!pairs.empty()) {
    pairs.back().recording = sample;
  }
}

void write_sound(const fs::path& path, const Sample& sample) {
  const auto sound = sample.sound.contiguous();
  const auto writer = open_sound_writer(path, sample.sample_rate, Appears::Whole);
  writer->write({sound.const_data_ptr<float>(), static_cast<std::size_t>(sound.numel())});
  writer->finish();
}

}  // namespace

ValidationSamples::ValidationSamples(const fs::path& run, PartTraining& training,
                                     const OpenModel& start, SampleMaker make_samples,
                                     SampleJudging judging, std::function<void()> made)
    : folder_(run / "samples"),
      training_(training),
      start_(start),
      make_samples_(std::move(make_samples)),
      judging_(std::move(judging)),
      made_(std::move(made)),
      jobs_(1) {
  threads_.start("samples", [this] { work(); });
}

ValidationSamples::~ValidationSamples() {
  if (!finished_) jobs_.finish();
}

void ValidationSamples::stop() {
  stopped_ = true;
  jobs_.stop();
}

void ValidationSamples::hand_over() {
  if (!judging_.judge) return;
  std::vector<SampleVerdict> verdicts;
  {
    const std::lock_guard lock(mutex_);
    verdicts.swap(verdicts_);
  }
  for (const SampleVerdict& verdict : verdicts) judging_.take(verdict);
}

void ValidationSamples::evaluated(const EvaluationReport& report) {
  hand_over();
  if (busy_.exchange(true)) {
    log_info("train", "step {}: the samples of an earlier step are still being made", report.step);
    return;
  }
  last_ = report.step;
  if (!jobs_.push(job_of(report.step))) busy_ = false;  // stopped
}

// The validation or the end of training waited for the device, and the next update would change
// them.
ValidationSamples::Job ValidationSamples::job_of(std::int64_t step) const {
  Job job{.step = step};
  for (const auto& [name, tensor] : training_.weights()) {
    job.weights.emplace(name, tensor.to(at::kCPU, tensor.scalar_type(), /*non_blocking=*/false,
                                        /*copy=*/true));
  }
  return job;
}

void ValidationSamples::finish(std::int64_t step) {
  log_info("train", "step {}: the last samples are being made", step);
  if (last_ != step && !jobs_.push(job_of(step))) return;  // stopped
  finished_ = true;
  jobs_.finish();
  threads_.join();
  hand_over();
}

void ValidationSamples::work() {
  give_way();
  while (auto job = jobs_.pop()) {
    try {
      make(*job);
    } catch (const std::exception& error) {  // a run does not end for want of samples
      log_warning("train", "the samples of step {} were not made: {}", job->step,
                  first_line(error));
    }
    busy_ = false;
  }
}

OpenModel ValidationSamples::model_with(const NamedTensors& weights) const {
  OpenModel model = start_;
  for (const auto& [name, tensor] : weights) {
    for (NamedTensors* tensors : {&model.model, &model.dvae}) {
      if (tensors->contains(name)) tensors->insert_or_assign(name, tensor);
    }
  }
  return model;
}

void ValidationSamples::make(const Job& job) {
  const c10::AutoGradMode no_gradients(false);
  const fs::path folder = folder_ / fmt::format("step-{:07}", job.step);
  std::error_code failed;  // the first file says it
  fs::create_directories(folder, failed);
  if (!events_) events_.emplace(folder_, job.step);
  std::int64_t made = 0;
  std::vector<SamplePair> pairs;
  const auto take = [&](const Sample& sample) {
    keep(sample, job.step, folder);
    if (!sample.text.empty()) ++made;  // what has none is the recording beside one
    if (judging_.judge) add_to(pairs, sample);
  };
  const OpenModel model = model_with(job.weights);
  make_samples_(model, take, [this] { return !stopped_; });
  events_->flush();
  if (stopped_) return;
  log_info("train", "step {}: {} in {}", job.step, counted(made, "sample is", "samples are"),
           folder.string());
  if (judging_.judge) judge(pairs, model, job, folder);
  if (made_) made_();
}

void ValidationSamples::judge(const std::vector<SamplePair>& pairs, const OpenModel& model,
                              const Job& job, const fs::path& folder) {
  const auto write_heard = [&folder](const SamplePair& pair, const HeardSample& heard) {
    const nlohmann::json scores{{"cer", heard.cer}, {"similarity", heard.similarity}};
    write_file_atomically(folder / (pair.sample.name + "-heard.txt"), bytes_of(heard.text + "\n"));
    write_file_atomically(folder / (pair.sample.name + ".json"), bytes_of(scores.dump() + "\n"));
  };
  SampleVerdict verdict = (*judging_.judge)(
      pairs, model, [this] { return !stopped_; }, write_heard);
  if (verdict.samples == 0) return;  // stopped
  verdict.step = job.step;
  log_info("train",
           "step {}: {:.1f} % character errors are heard in {}; likeness of the voice {:.2f}",
           verdict.step, 100 * verdict.cer, counted(verdict.samples, "sample"), verdict.similarity);
  const std::lock_guard lock(mutex_);
  verdicts_.push_back(verdict);
}

void ValidationSamples::keep(const Sample& sample, std::int64_t step, const fs::path& folder) {
  if (!sample.text.empty()) {
    write_file_atomically(folder / (sample.name + ".txt"), bytes_of(sample.text + "\n"));
  }
  if (sample.sound.defined()) {
    const fs::path path = folder / (sample.name + ".wav");
    write_sound(path, sample);
    const std::string wav = read_text_file(path, "sample", kLargestSound);
    events_->add_sound(sample.name, step, sample.sample_rate, sample.sound.numel(), wav);
  }
  if (sample.picture.width > 0) {
    const std::string png = png_of(sample.picture);
    write_file_atomically(folder / (sample.name + ".png"), bytes_of(png));
    events_->add_picture(sample.name, step, sample.picture.width, sample.picture.height, png);
  }
}

}  // namespace myxtts
