// SPDX-License-Identifier: Apache-2.0
#include "train/decoder/decoder_training.h"

#include <ATen/ATen.h>

#include "base/error.h"
#include "device/torch_device.h"
#include "model/discriminators.h"
#include "model/named_tensors.h"
#include "model/network_specs.h"
#include "train/decoder/gan_step.h"
#include "train/decoder/training_windows.h"
#include "train/step/number_reader.h"
#include "train/step/optimiser.h"
#include "train/step/parameters.h"
#include "train/step/stage_training.h"

namespace myxtts {
namespace {

constexpr const char* kJudgeWeight = "discriminator_weight.";  // in the optimiser's tensors

const std::vector<std::string>& names_of_decoder_losses() {
  static const std::vector<std::string> names = {"mel_loss", "feature_loss", "adversarial_loss",
                                                 "discriminator_loss"};
  return names;
}

NamedTensors first_judges(const DiscriminatorConfig& config, std::uint64_t seed) {
  NamedTensors named;
  for (const auto& [name, tensor] : initialise(discriminator_specs(config), seed)) {
    named.emplace(kDiscriminatorPrefix + name, tensor);
  }
  return named;
}

OptimiserSettings optimiser_settings(const DecoderTrainingSettings& settings, std::size_t losses) {
  return {.update = settings.update,
          .moments = settings.moments,
          .batches_a_step = settings.batches_a_step,
          .seed = settings.seed,
          .losses = static_cast<std::int64_t>(losses)};
}

DecoderTrainingSettings checked(const ModelConfig& config,
                                const DecoderTrainingSettings& settings) {
  if (settings.precision == Precision::Fp16) {
    throw ConfigError(
        "The decoder stage cannot train with --precision fp16: its sound would overflow. Type "
        "--precision bf16, tf32 or fp32.");
  }
  const std::int64_t least =
      (MelError::minimum_samples() + config.decoder.output_hop - 1) / config.decoder.output_hop;
  if (settings.window_frames < least) {
    throw ConfigError(
        fmt::format("A window of the decoder stage has {} frames; its spectra need at least {}.",
                    settings.window_frames, least));
  }
  set_arithmetic(settings.precision, settings.deterministic);
  return settings;
}

NamedTensors beginning_with(const NamedTensors& tensors, std::string_view prefix) {
  NamedTensors found;
  for (const auto& [name, tensor] : tensors) {
    if (name.starts_with(prefix)) found.emplace(name.substr(prefix.size()), tensor);
  }
  return found;
}

}  // namespace

struct DecoderTraining::State {
  State(const ModelConfig& config, const NamedTensors& weights, RoleDevice& role,
        const DecoderTrainingSettings& wanted)
      : settings(checked(config, wanted)),
        device(role),
        windows_of(config, weights, torch_device(role), type_of(settings.precision)),
        decoder(lay_out(decoder_specs(config.decoder), kDecoderPrefix, {}), weights,
                torch_device(role), at::kFloat, /*fixed_gradients=*/true),
        judges(lay_out(discriminator_specs(discriminators_for(config.decoder)),
                       kDiscriminatorPrefix, {}),
               first_judges(discriminators_for(config.decoder), settings.seed), torch_device(role),
               at::kFloat, /*fixed_gradients=*/true),
        gan(config.decoder, decoder, judges, settings),
        optimiser(decoder, optimiser_settings(settings, names_of_decoder_losses().size()), role),
        judge_optimiser(judges, optimiser_settings(settings, 0), role),
        numbers(role, {std::ssize(names_of_decoder_losses())}) {
    if (settings.graphs) record(config.decoder);
  }

  // Windows are all of one size, so looking for the fastest convolutions pays while they are
  // recorded; afterwards it would cost a search for each length of clip on the data's side.
  void record(const DecoderConfig& config) {
    at::globalContext().setBenchmarkCuDNN(!settings.deterministic);
    const auto one = [this](bool with_judges) {
      return [this, with_judges](const DecoderWindows& windows) { pass(windows, with_judges); };
    };
    graphs.emplace(device, empty_windows(config, settings, torch_device(device)), one(false),
                   one(true));
    at::globalContext().setBenchmarkCuDNN(false);
    optimiser.clear();  // of what ran before the recordings
    judge_optimiser.clear();
  }

  bool with_judges() const { return step >= settings.mel_only_steps; }

  // Forward and backward of one batch, and its losses.
  void pass(const DecoderWindows& windows, bool with_judges) {
    const GanLosses losses = gan.pass(windows, with_judges);
    const auto all =
        at::stack({gan.total(losses.mel, losses.feature, losses.adversarial), losses.mel,
                   losses.feature, losses.adversarial, losses.discriminator});
    optimiser.losses().add_(all / static_cast<double>(settings.batches_a_step));
    optimiser.add_up();
    if (with_judges) judge_optimiser.add_up();
  }

  // What is not a number on one side becomes the loss of both, so that both are left alone.
  void share_faults() {
    const auto fault =
        (decoder.gradients().sum() + judges.gradients().sum() + optimiser.losses().sum()).mul_(0);
    optimiser.losses().narrow(0, 0, 1).add_(fault);
    judge_optimiser.losses().add_(fault);
  }

  // Calls `work` as work of the role; LibTorch's errors become ours.
  template <typename Work>
  void queue(const Work& work) {
    const auto scope = device.enter(device.stream());
    try {
      work();
    } catch (const c10::Error&) {
      device.rethrow();
    }
  }

  const DecoderTrainingSettings settings;
  RoleDevice& device;
  const WindowMaker windows_of;
  Parameters decoder;
  Parameters judges;
  const GanStep gan;
  Optimiser optimiser;        // the decoder's; tells the losses of both sides
  Optimiser judge_optimiser;  // the discriminators'
  NumberReader numbers;
  std::optional<GanGraphs> graphs;
  std::int64_t step = 0;
  std::int64_t batches = 0;  // of the step at work
};

DecoderTraining::DecoderTraining(const ModelConfig& config, const NamedTensors& weights,
                                 RoleDevice& device, const DecoderTrainingSettings& settings) {
  const auto scope = device.enter(device.stream());
  try {
    state_ = std::make_unique<State>(config, weights, device, settings);
  } catch (const c10::Error&) {
    device.rethrow();
  }
}

DecoderTraining::~DecoderTraining() = default;

const std::vector<std::string>& DecoderTraining::loss_names() const {
  return names_of_decoder_losses();
}

double DecoderTraining::total(std::span<const double> losses) const {
  return state_->settings.mel_weight * losses[0];
}

void DecoderTraining::accumulate(DeviceBatch& batch) {
  State& s = *state_;
  s.queue([&] {
    batch.filled.hold_up(s.device.stream());
    const DecoderWindows windows = s.windows_of(batch);
    if (s.graphs) {
      s.graphs->replay(windows, s.with_judges());
    } else {
      s.pass(windows, s.with_judges());
    }
    batch.consumed.record(s.device.stream());
  });
  ++s.batches;
}

void DecoderTraining::update(double learning_rate) {
  State& s = *state_;
  MYXTTS_CHECK(s.batches > 0, "an update without a batch");
  s.queue([&] {
    if (s.with_judges()) {
      s.share_faults();
      s.judge_optimiser.update(s.step + 1, learning_rate);
    }
    s.optimiser.update(s.step + 1, learning_rate);
    const UpdateReport* const report = s.optimiser.report();
    s.numbers.read(s.device.stream(), {&report, 1});
  });
  ++s.step;
  s.batches = 0;
}

std::int64_t DecoderTraining::step() const {
  return state_->step;
}

RoleDevice& DecoderTraining::device() const {
  return state_->device;
}

std::vector<StepNumbers> DecoderTraining::take_numbers() {
  return state_->numbers.take();
}

std::vector<StepNumbers> DecoderTraining::finish_numbers() {
  return state_->numbers.finish();
}

at::Tensor DecoderTraining::evaluate(DeviceBatch& batch) {
  State& s = *state_;
  const at::NoGradGuard no_grad;
  at::Tensor sums;  // [2, 4]
  s.queue([&] {
    batch.filled.hold_up(s.device.stream());
    const DecoderWindows windows = s.windows_of(batch);
    const GanLosses losses = s.gan.measure(windows, s.with_judges());
    const auto each =
        at::stack({losses.mel, losses.feature, losses.adversarial, losses.discriminator});
    const auto counted = windows.weights.sum().expand({each.size(0)});
    sums = at::stack({(each * windows.weights).sum(1), counted});
    batch.consumed.record(s.device.stream());
  });
  return sums;
}

std::vector<std::string> DecoderTraining::overflowed() const {
  std::vector<std::string> names;
  state_->queue([&] {
    names = state_->optimiser.overflowed();
    for (const auto& name : state_->judge_optimiser.overflowed()) names.push_back(name);
  });
  return names;
}

NamedTensors DecoderTraining::weights() const {
  return state_->decoder.named_weights();
}

NamedTensors DecoderTraining::optimiser() const {
  NamedTensors all = state_->optimiser.tensors();
  for (const auto& [name, tensor] : state_->judge_optimiser.tensors()) {
    all.emplace(kDiscriminatorPrefix + name, tensor);
  }
  for (const auto& [name, tensor] : state_->judges.named_weights()) {
    all.emplace(kJudgeWeight + name, tensor);
  }
  return all;
}

NamedTensors DecoderTraining::kept() const {
  NamedTensors all = optimiser();
  for (const auto& [name, weight] : weights()) all.emplace("weight." + name, weight);
  for (const Parameters* side : {&state_->decoder, &state_->judges}) {
    for (const auto& [name, tensor] : side->tensors()) {
      all.emplace("gradient." + name, tensor.grad());
    }
  }
  return all;
}

void DecoderTraining::restore(std::int64_t step, const NamedTensors& weights,
                              const NamedTensors& optimiser) {
  State& s = *state_;
  s.queue([&] {
    s.decoder.load(weights);
    s.judges.load(beginning_with(optimiser, kJudgeWeight));
    s.optimiser.load(optimiser);
    s.judge_optimiser.load(beginning_with(optimiser, kDiscriminatorPrefix));
  });
  s.step = step;
  s.batches = 0;
}

}  // namespace myxtts
