// SPDX-License-Identifier: Apache-2.0
#include "train/gpt_training.h"

#include <ATen/ATen.h>

#include "base/error.h"
#include "base/random.h"
#include "model/gpt.h"
#include "model/gpt_specs.h"
#include "model/losses.h"
#include "train/frozen.h"
#include "train/number_reader.h"
#include "train/optimiser.h"
#include "train/parameters.h"

namespace myxtts {
namespace {

c10::Device device_of(const RoleDevice& role) {
  return role.gpu() < 0 ? c10::Device(c10::kCPU)
                        : c10::Device(c10::kCUDA, static_cast<c10::DeviceIndex>(role.gpu()));
}

at::ScalarType type_of(Precision precision) {
  if (precision == Precision::Bf16) return at::kBFloat16;
  return precision == Precision::Fp16 ? at::kHalf : at::kFloat;
}

ParameterLayout layout_of(const GptConfig& config, const std::vector<std::string>& freeze) {
  const auto specs = gpt_specs(config);
  std::vector<std::string> names;
  for (const auto& spec : specs) names.push_back(kGptPrefix + spec.name);
  return lay_out(specs, kGptPrefix, frozen_names(names, freeze));
}

}  // namespace

struct GptTraining::State {
  State(const GptConfig& config, const NamedTensors& weights, RoleDevice& role,
        const GptTrainingSettings& wanted)
      : settings(wanted),
        device(role),
        parameters(layout_of(config, wanted.freeze), weights, device_of(role),
                   type_of(wanted.precision), /*fixed_gradients=*/true),
        gpt(config, parameters.tensors()),
        optimiser(parameters, settings, device),
        numbers(device) {}

  GptLosses forward(const DeviceBatch& batch, double dropout) const {
    const auto latents = gpt.conditioning(batch.prompt_mel);
    return gpt_losses(batch.rows, gpt.logits(batch.rows, gpt.states(batch.rows, latents, dropout)));
  }

  // Dropout is drawn anew for each batch from what the batch is, not from what was drawn before.
  void seed_dropout() const {
    constexpr std::uint64_t kMostBatches = std::uint64_t{1} << 20;  // of a step
    const RandomStream seeds(settings.seed, "train/dropout");
    auto generator = at::globalContext().defaultGenerator(device_of(device));
    generator.set_current_seed(
        seeds.bits(static_cast<std::uint64_t>(step) * kMostBatches + batches));
  }

  const GptTrainingSettings settings;
  RoleDevice& device;
  Parameters parameters;
  const Gpt gpt;
  Optimiser optimiser;
  NumberReader numbers;
  std::int64_t step = 0;
  std::uint64_t batches = 0;  // of the step at work
};

GptTraining::GptTraining(const GptConfig& config, const NamedTensors& weights, RoleDevice& device,
                         const GptTrainingSettings& settings) {
  const auto scope = device.enter(device.stream());
  try {
    state_ = std::make_unique<State>(config, weights, device, settings);
  } catch (const c10::Error&) {
    device.rethrow();
  }
}

GptTraining::~GptTraining() = default;

void GptTraining::accumulate(DeviceBatch& batch) {
  State& s = *state_;
  const auto scope = s.device.enter(s.device.stream());
  try {
    batch.filled.hold_up(s.device.stream());
    s.seed_dropout();
    const auto losses = s.forward(batch, s.settings.dropout);
    (losses.total * s.optimiser.loss_scale()).sum().backward();
    s.optimiser.losses().add_(at::stack({losses.text, losses.audio, losses.total}).detach());
    s.optimiser.add_up();
    batch.consumed.record(s.device.stream());
  } catch (const c10::Error&) {
    s.device.rethrow();
  }
  ++s.batches;
}

void GptTraining::update(double learning_rate) {
  State& s = *state_;
  MYXTTS_CHECK(s.batches > 0, "an update without a batch");
  const auto scope = s.device.enter(s.device.stream());
  try {
    s.optimiser.update(++s.step, learning_rate);
    s.numbers.read(s.device.stream(), s.optimiser.report());
  } catch (const c10::Error&) {
    s.device.rethrow();
  }
  s.batches = 0;
}

std::int64_t GptTraining::step() const {
  return state_->step;
}

std::vector<StepNumbers> GptTraining::take_numbers() {
  return state_->numbers.take();
}

std::vector<StepNumbers> GptTraining::finish_numbers() {
  return state_->numbers.finish();
}

at::Tensor GptTraining::evaluate(DeviceBatch& batch) {
  State& s = *state_;
  const at::NoGradGuard no_grad;
  const auto scope = s.device.enter(s.device.stream());
  at::Tensor sums;  // [4]
  try {
    batch.filled.hold_up(s.device.stream());
    const auto losses = s.forward(batch, /*dropout=*/0.0);
    const auto counted = [](const at::Tensor& targets) { return targets.ne(-1).sum(at::kFloat); };
    sums = at::stack({losses.text_tokens.sum(), losses.audio_tokens.sum(),
                      counted(batch.rows.text_targets), counted(batch.rows.audio_targets)});
    batch.consumed.record(s.device.stream());
  } catch (const c10::Error&) {
    s.device.rethrow();
  }
  return sums;
}

NamedTensors GptTraining::weights() const {
  return state_->parameters.named_weights();
}

NamedTensors GptTraining::optimiser() const {
  return state_->optimiser.tensors();
}

void GptTraining::restore(std::int64_t step, const NamedTensors& weights,
                          const NamedTensors& optimiser) {
  State& s = *state_;
  const auto scope = s.device.enter(s.device.stream());
  s.parameters.load(weights);
  s.optimiser.load(optimiser);
  s.step = step;
  s.batches = 0;
}

}  // namespace myxtts
