// SPDX-License-Identifier: Apache-2.0
#include "session/validate_run.h"

#include <cstdlib>
#include <filesystem>

#include "base/error.h"
#include "base/scratch_folder.h"
#include "data/generated_corpus.h"
#include "device/cuda_plugin.h"
#include "device/system_probe.h"
#include "device/visible_devices.h"
#include "diagnose/doctor/libtorch_facts.h"
#include "diagnose/doctor/measure.h"
#include "diagnose/validate/validation.h"
#include "session/plan_run.h"
#include "session/trial.h"

namespace myxtts {
namespace {

constexpr const char* kUsualSize = "tiny";
constexpr std::int64_t kUsualBatch = 2;  // clips
constexpr std::int64_t kWarmUp = 4;      // steps
constexpr std::int64_t kSteps = 20;
constexpr GeneratedCorpus kCorpus = {.clips = 48, .shortest = 1.5, .longest = 3.0};

bool is_default(const EffectiveConfig& settings, const char* key) {
  return settings.origins.empty() || settings.origin_of(key).kind == Origin::Kind::Default;
}

std::vector<Check> checklist_for(const DevicePlan& plan) {
  SystemProbe probe;
  const CudaPlugin plugin =
      plan.model.gpu ? cuda_plugin() : find_cuda_plugin(CudaPluginPlaces::usual());
  Findings findings = measure(probe, plugin, std::filesystem::current_path());
  findings.libtorch = libtorch_facts();
  return make_checklist(findings);
}

VisibleDevices visible_now(const DevicePlan& plan) {
  VisibleDevices visible{.cuda_is_open = cuda_plugin_is_open()};
  if (const char* variable = std::getenv("CUDA_VISIBLE_DEVICES")) visible.variable = variable;
  if (!plan.model.gpu) return visible;
  for (const CudaDevice& device : require_cuda().devices()) {
    visible.shown.push_back(device.pci_bus_id);
  }
  return visible;
}

double seconds(std::chrono::nanoseconds time) {
  return std::chrono::duration<double>(time).count();
}

PipelineTrial try_pipeline(EffectiveConfig settings, const DevicePlan& plan) {
  const ScratchFolder corpus("validate");
  generate_corpus(corpus.path(), kCorpus);
  settings.values.data.train_data = {{.path = corpus.path().string()}};
  settings.values.data.val_data.clear();
  settings.values.data.val_fraction = 0.0;
  settings.values.data.cache_dataset = false;
  settings.values.data.model_start_delay = 0.0;
  settings.values.train.init.reset();
  const TrialReading reading =
      run_trial(settings, plan, {.warm_up = kWarmUp, .steps = kSteps, .resident = 0});
  const PipelineReading& pipeline = reading.pipeline;
  return {.wanted_batches = kSteps,
          .batches = reading.batches,
          .clips = reading.clips,
          .whole_seconds = reading.wall_seconds,
          .feature_seconds = pipeline.data_device.busy_seconds,
          .step_seconds = pipeline.model_device.busy_seconds,
          .starved_seconds = seconds(pipeline.stage("features").load.waiting_for_input),
          .readiness = pipeline.readiness};
}

}  // namespace

EffectiveConfig with_validation_defaults(EffectiveConfig settings) {
  TrainConfig& train = settings.values.train;
  if (is_default(settings, "train.model_size")) train.model_size = kUsualSize;
  if (!train.batch_size) train.batch_size = kUsualBatch;
  train.grad_accum = 1;
  // A placement is tried with the GPT, whichever stage the settings are of.
  train.stage = Stage::Gpt;
  train.windows_per_clip.reset();
  train.window.reset();
  return settings;
}

Validation validate_run(const EffectiveConfig& given) {
  const EffectiveConfig settings = with_validation_defaults(given);
  const ModelConfig model = model_preset(settings.values.train.model_size);
  const DevicePlan plan = plan_and_open_devices(settings.values, model);
  const ValidationParts parts{
      .plan = plan,
      .model = model,
      .checklist = checklist_for(plan),
      .visible = visible_now(plan),
      .multiprocessors =
          [](const RoleDevice& data) { return require_cuda().multiprocessors_of(data.stream()); },
      .pipeline = [&] { return try_pipeline(settings, plan); }};
  return {.plan = plan, .steps = run_steps(validation_steps(parts))};
}

}  // namespace myxtts
