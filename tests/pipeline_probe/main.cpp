// SPDX-License-Identifier: Apache-2.0
//
// Drives the real pipeline and the training step beside it, and says how long everything took, one
// JSON object a line. benchmarks/pipeline_gpu.py starts it and judges the figures.
#include <algorithm>
#include <cstdio>
#include <functional>
#include <set>

#include <ATen/ATen.h>
#include <torch/csrc/autograd/profiler_kineto.h>
#include <nlohmann/json.hpp>

#include "base/checksum.h"
#include "base/error.h"
#include "base/log.h"
#include "base/trace.h"
#include "device/cuda_plugin.h"
#include "pipeline/data_pipeline.h"
#include "pipeline/feature_stage.h"
#include "probe_model.h"
#include "probe_options.h"
#include "probe_source.h"
#include "step_marks.h"

namespace myxtts::test {
namespace {

using Json = nlohmann::ordered_json;
using Pipeline = DataPipeline<FeatureStage>;

// Kinds of steps.
constexpr int kWarmUp = 0;
constexpr int kOnResident = 1;
constexpr int kFromPipeline = 2;

constexpr std::int64_t kResident = 8;  // batches that stay on the device
constexpr std::int64_t kRounds = 12;   // of resident steps and steps from the pipeline, in turn
constexpr std::int64_t kTraced = 10;   // steps
constexpr std::int64_t kBehind =
    8;  // batches that are never trained on: data work goes on to the end

void say(const Json& line) {
  std::puts(line.dump().c_str());
  std::fflush(stdout);
}

ModelConfig config_for(const ProbeOptions& options) {
  auto config = model_preset(options.model);
  if (!options.dvae.empty()) {
    const auto codes = config.dvae.codes;  // that the GPT knows
    config.dvae = model_preset(options.dvae).dvae;
    config.dvae.codes = codes;
  }
  if (options.dvae_blocks > 0) config.dvae.blocks = options.dvae_blocks;
  return config;
}

class Probe {
 public:
  explicit Probe(const ProbeOptions& options)
      : options_(options),
        config_(config_for(options)),
        source_(options.clips, config_.gpt, options.batch),
        data_(open_role_device(Role::Data, options.plan.data)),
        model_(open_role_device(Role::Model, options.plan.model)) {}

  void run() {
    try {
      networks_ =
          std::make_unique<ProbeModel>(config_, *data_, *model_, source_.sizes(), options_.batch);
      const std::string phases = "," + options_.phases + ",";
      const auto wanted = [&](const std::string& name) {
        return phases.find("," + name + ",") != std::string::npos;
      };
      if (wanted("smid")) probe_multiprocessors();
      if (wanted("hash")) hash_batches("hash", false);
      fill_cache();
      if (wanted("hash_warm")) hash_batches("hash_warm", true);
      if (wanted("features")) features_alone("features", false);
      if (wanted("features_warm")) features_alone("features_warm", true);
      if (wanted("overlap")) overlap();
      if (wanted("warm")) warm();
      if (wanted("cold")) cold();
      if (wanted("trace")) trace_kernels();
    } catch (const c10::Error&) {
      model_->rethrow();
    }
  }

 private:
  FeatureStage make_stage() {
    return {*data_, *model_, options_.plan.path,
            FeatureNetworks{.gpt = config_.gpt,
                            .clips = options_.batch,
                            .rows = source_.sizes(),
                            .dvae = &networks_->dvae(),
                            .mel_stats = networks_->mel_stats()}};
  }

  PipelineOptions pipeline_options(std::int64_t steps) {
    const auto slots = static_cast<std::size_t>(options_.plan.ring_slots);
    return {.gpt = config_.gpt,
            .end = DataPosition{0, steps},
            .workers = options_.workers,
            .most_workers = options_.workers,
            .allocate = [this](std::size_t bytes) { return data_->host_memory(bytes); },
            .ring_slots = slots,
            .trainers = {model_.get()}};
  }

  Json memory() const {
    return {{"data", data_->memory().read().reserved},
            {"data_peak", data_->memory().read().peak},
            {"model", model_->memory().read().reserved},
            {"model_peak", model_->memory().read().peak}};
  }

  void probe_multiprocessors() {
    const auto& cuda = require_cuda();
    const auto data = cuda.multiprocessors_of(data_->stream());
    const auto again = cuda.multiprocessors_of(data_->make_stream());
    const auto model = cuda.multiprocessors_of(model_->stream());
    say({{"phase", "smid"}, {"data", data}, {"data_other_stream", again}, {"model", model}});
  }

  void fill_cache() {
    const auto scope = data_->enter(data_->stream());
    const at::NoGradGuard no_grad;
    ClipFeatures features(networks_->dvae(), networks_->mel_stats(), device_of(*data_));
    for (ClipNumber number = 0; number < source_.size(); ++number) {
      const auto decoded = std::get<DecodedClip>(source_.decode(source_.clip(number)));
      const auto samples = at::tensor(at::ArrayRef<std::int16_t>(decoded.samples), at::kShort);
      const ClipSound sound = {samples.to(device_of(*data_)), decoded.sample_rate};
      const auto result = features.encode({&sound, 1}).front();
      const auto stored = result.samples.cpu().contiguous();
      const auto codes = result.codes.cpu().contiguous();
      const auto* first = stored.const_data_ptr<std::int16_t>();
      const auto* code = codes.const_data_ptr<std::int64_t>();
      source_.cache(number, {first, first + stored.numel()}, {code, code + codes.numel()});
    }
  }

  // A hash over every tensor of every batch, as the trainer would read it.
  void hash_batches(const char* phase, bool warm) {
    source_.use_cache(warm);
    auto stage = make_stage();
    Pipeline batches(source_, stage, pipeline_options(options_.steps));
    batches.start({});
    Json hashes = Json::array();
    while (auto slot = batches.outlet().next()) {
      const auto scope = model_->enter(model_->stream());
      const GptBatch& rows = (*slot)->rows;
      std::uint64_t hash = 0;
      for (const auto& tensor :
           {rows.segment_ends, rows.tokens, rows.positions, rows.target_rows, rows.text_targets,
            rows.text_clips, rows.audio_targets, rows.audio_clips, rows.text_count,
            rows.audio_count, (*slot)->prompt_mel}) {
        const auto here = tensor.cpu().contiguous();
        hash = hash * 31 +
               crc32({static_cast<const std::byte*>(here.const_data_ptr()), here.nbytes()});
      }
      hashes.push_back(hash);
      (*slot)->consumed.record(model_->stream());
    }
    say({{"phase", phase}, {"hashes", hashes}});
  }

  void features_alone(const char* phase, bool warm) {
    source_.use_cache(warm);
    auto stage = make_stage();
    Pipeline batches(source_, stage, pipeline_options(options_.warm_up + 30));
    batches.start({});
    PipelineReading before;
    while (auto slot = batches.outlet().next()) {
      if ((*slot)->number == options_.warm_up) before = batches.outlet().meters();
      (*slot)->consumed.record(model_->stream());
    }
    const auto after = batches.outlet().meters();
    const auto count = after.data_device.batches - before.data_device.batches;
    say({{"phase", phase},
         {"batches", count},
         {"feature_ms", 1000 * (after.data_device.busy_seconds - before.data_device.busy_seconds) /
                            static_cast<double>(count)},
         {"memory", memory()}});
  }

  // The stages in series, features and step taking turns, and then overlapped; on the same batches.
  void overlap() {
    source_.use_cache(false);
    auto stage = make_stage();
    double features = 0;
    double steps = 0;
    HostStages host(source_, pipeline_options(options_.warm_up + options_.steps));
    auto slots = stage.make_slots(1);
    host.start({});
    StepMarks marks;
    const auto seconds = [] {
      return std::chrono::duration<double>(system_clock().now().time_since_epoch()).count();
    };
    while (auto batch = host.output().pop()) {
      const double began = seconds();
      stage.fill(*batch, slots[0]);
      slots[0].filled.wait();
      const double filled = seconds();
      train(slots[0], marks, kFromPipeline);
      marks.finish();
      if (batch->number < options_.warm_up) continue;
      features += filled - began;
      steps += seconds() - filled;
    }
    const auto count = static_cast<double>(options_.steps);
    const double series = (features + steps) / count;
    const double longer = std::max(features, steps) / count;

    Pipeline batches(source_, stage, pipeline_options(options_.warm_up + options_.steps));
    batches.start({});
    batches.outlet().wait_until_ready();
    double began = seconds();
    while (auto slot = batches.outlet().next()) {
      if ((*slot)->number == options_.warm_up) began = seconds();
      train(**slot, marks, kFromPipeline);
    }
    marks.finish();
    const double overlapped = (seconds() - began) / count;
    say({{"phase", "overlap"},
         {"features_ms", 1000 * features / count},
         {"step_ms", 1000 * steps / count},
         {"series_ms", 1000 * series},
         {"overlapped_ms", 1000 * overlapped},
         {"of_the_longer", overlapped / longer},
         {"times_faster", series / overlapped}});
  }

  // Batches that are all on the device already.
  struct ResidentBatches {
    explicit ResidentBatches(Probe& probe)
        : stage(probe.make_stage()), pipeline(probe.source_, stage, options_of(probe)) {
      pipeline.start({});
      while (auto slot = pipeline.outlet().next()) slots.push_back(std::move(*slot));
    }

    static PipelineOptions options_of(Probe& probe) {
      PipelineOptions options = probe.pipeline_options(kResident);
      options.ring_slots = static_cast<std::size_t>(kResident);
      return options;
    }

    DeviceBatch& next() { return *slots[next_++ % slots.size()]; }

    FeatureStage stage;
    Pipeline pipeline;
    std::vector<Pipeline::Slot> slots;
    std::size_t next_ = 0;
  };

  void train(DeviceBatch& batch, StepMarks& marks, int kind) {
    networks_->step(batch);
    marks.end_of_step(*model_, kind);
  }

  // What a pipeline did between two readings of its meters.
  Json between(const PipelineReading& before, const PipelineReading& after) const {
    const auto batches = after.data_device.batches - before.data_device.batches;
    return {
        {"ready", after.readiness.ready - before.readiness.ready},
        {"of", after.readiness.steps - before.readiness.steps},
        {"waited_s", after.readiness.waited_seconds - before.readiness.waited_seconds},
        {"feature_ms", 1000 * (after.data_device.busy_seconds - before.data_device.busy_seconds) /
                           static_cast<double>(std::max<std::int64_t>(batches, 1))},
        {"stages", describe(after)}};
  }

  // With everything cached, in turn with steps on resident batches: a GPU that grows slower as it
  // grows warmer does so for both. While the one is measured the other's threads have nothing to
  // do: every slot is filled.
  void warm() {
    source_.use_cache(true);
    ResidentBatches resident(*this);
    auto stage = make_stage();
    Pipeline batches(source_, stage, pipeline_options(options_.steps + options_.warm_up + kBehind));
    batches.start({});
    batches.outlet().wait_until_ready();
    StepMarks marks;
    const auto train_from_pipeline = [&](std::int64_t count, int kind) {
      for (std::int64_t i = 0; i < count; ++i) {
        if (auto slot = batches.outlet().next()) train(**slot, marks, kind);
      }
    };
    train_from_pipeline(options_.warm_up, kWarmUp);
    const auto before = batches.outlet().meters();
    const Json memory_before = memory();
    for (std::int64_t round = 0; round < kRounds; ++round) {
      const auto steps = options_.steps / kRounds;
      for (std::int64_t i = 0; i < steps / 3 + 1; ++i) train(resident.next(), marks, kOnResident);
      train_from_pipeline(steps, kFromPipeline);
    }
    marks.finish();
    Json line = {{"phase", "warm"},
                 {"resident", marks.spread(kOnResident)},
                 {"step", marks.spread(kFromPipeline)},
                 {"memory_before", memory_before},
                 {"memory", memory()}};
    line.update(between(before, batches.outlet().meters()));
    say(line);
  }

  void cold() {
    source_.use_cache(false);
    auto stage = make_stage();
    const auto steps = options_.steps + options_.warm_up;
    Pipeline batches(source_, stage, pipeline_options(steps + kBehind));
    batches.start({});
    const auto start = batches.outlet().wait_until_ready();
    StepMarks marks;
    PipelineReading before;
    Json memory_before;
    for (std::int64_t step = 0; step < steps; ++step) {
      auto slot = batches.outlet().next();
      const bool counts = (*slot)->number >= options_.warm_up;
      if ((*slot)->number == options_.warm_up) {
        before = batches.outlet().meters();
        memory_before = memory();
      }
      train(**slot, marks, counts ? kFromPipeline : kWarmUp);
    }
    marks.finish();
    Json line = {{"phase", "cold"},
                 {"step", marks.spread(kFromPipeline)},
                 {"start_waited_s", std::chrono::duration<double>(start.for_data).count()},
                 {"memory_before", memory_before},
                 {"memory", memory()}};
    line.update(between(before, batches.outlet().meters()));
    say(line);
  }

  // The kernels of some steps on resident batches, with a warm cache and uncached: a file each.
  void trace_kernels() {
    source_.use_cache(true);
    {
      ResidentBatches resident(*this);
      trace_steps("resident", [&] { return &resident.next(); });
    }
    for (const bool is_warm : {true, false}) {
      source_.use_cache(is_warm);
      auto stage = make_stage();
      Pipeline batches(source_, stage, pipeline_options(3 * kTraced));
      batches.start({});
      batches.outlet().wait_until_ready();
      std::optional<Pipeline::Slot> slot;
      trace_steps(is_warm ? "warm" : "cold", [&] {
        slot.reset();
        slot = batches.outlet().next();
        return &**slot;
      });
    }
  }

  void trace_steps(const std::string& name, const std::function<DeviceBatch*()>& next) {
    namespace profiler = torch::profiler::impl;
    const std::set<profiler::ActivityType> kernels = {profiler::ActivityType::CUDA};
    const profiler::ProfilerConfig config(profiler::ProfilerState::KINETO);
    StepMarks marks;
    for (std::int64_t i = 0; i < kTraced; ++i) train(*next(), marks, kWarmUp);
    torch::autograd::profiler::prepareProfiler(config, kernels);
    torch::autograd::profiler::enableProfiler(config, kernels);
    for (std::int64_t i = 0; i < kTraced; ++i) train(*next(), marks, kWarmUp);
    marks.finish();
    torch::autograd::profiler::disableProfiler()->save(options_.kernels + "-" + name + ".json");
  }

  const ProbeOptions options_;
  const ModelConfig config_;
  ProbeSource source_;
  const std::unique_ptr<RoleDevice> data_;
  const std::unique_ptr<RoleDevice> model_;
  std::unique_ptr<ProbeModel> networks_;
};

}  // namespace
}  // namespace myxtts::test

int main(int count, char** arguments) {
  using namespace myxtts;
  try {
    const auto options = test::read_options(count, arguments);
    if (!options.trace.empty()) start_trace(options.trace);
    test::Probe(options).run();
    finish_trace();
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
