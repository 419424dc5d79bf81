// SPDX-License-Identifier: Apache-2.0
#include "train/dvae/dvae_training.h"

#include <ATen/ATen.h>

#include "base/error.h"
#include "device/torch_device.h"
#include "model/dvae.h"
#include "model/dvae_specs.h"
#include "train/frozen.h"
#include "train/parameters.h"
#include "train/window_step.h"

namespace myxtts {
namespace {

const std::vector<std::string>& names_of_losses() {
  static const std::vector<std::string> names = {"reconstruction", "commitment", "perplexity",
                                                 "codes_used", "mel_error"};
  return names;
}

ParameterLayout layout_of(const DvaeConfig& config, const std::vector<std::string>& freeze) {
  TensorSpecs specs;
  std::vector<std::string> names;
  for (const auto& spec : dvae_specs(config)) {
    if (spec.role == TensorRole::Counter) continue;
    specs.push_back(spec);
    if (spec.role == TensorRole::Parameter) names.push_back(spec.name);
  }
  return lay_out(specs, "", frozen_names(names, freeze));
}

WindowStepSettings step_settings(const DvaeConfig& config, const DvaeTrainingSettings& settings) {
  SoundWindows windows;
  if (settings.graphs) {
    windows.weights = at::zeros({settings.windows}, at::kFloat);
    windows.mel = at::zeros({settings.windows, config.mel_bands, settings.frames}, at::kFloat);
  }
  return {.precision = settings.precision,
          .optimiser = {.update = settings.update,
                        .batches_a_step = settings.batches_a_step,
                        .seed = settings.seed,
                        .losses = std::ssize(names_of_losses())},
          .graphs = settings.graphs,
          .deterministic = settings.deterministic,
          .windows = windows,
          .on_the_way = settings.on_the_way};
}

// Counters of the public layout that nothing reads; a checkpoint has them too.
NamedTensors counters_of(const DvaeConfig& config, const NamedTensors& weights) {
  NamedTensors counters;
  for (const auto& spec : dvae_specs(config)) {
    if (spec.role != TensorRole::Counter) continue;
    counters.emplace(spec.name, find_tensor(weights, spec.name, spec.shape).clone());
  }
  return counters;
}

// The mean of each window's values [W, C, F].
at::Tensor of_each(const at::Tensor& values) {
  return values.mean({1, 2});
}

}  // namespace

struct DvaeTraining::State {
  // What is found for each window of a batch: [W].
  struct Errors {
    at::Tensor reconstruction;
    at::Tensor commitment;
    at::Tensor mel;
  };

  State(const DvaeConfig& config, const NamedTensors& weights, const at::Tensor& stats,
        RoleDevice& role, const DvaeTrainingSettings& wanted)
      : settings(wanted),
        counters(counters_of(config, weights)),
        mel_stats(stats.to(torch_device(role)).view({1, -1, 1})),
        parameters(layout_of(config, wanted.freeze), weights, torch_device(role), at::kFloat,
                   /*fixed_gradients=*/true),
        dvae(config, parameters.tensors()),
        codebook(parameters.tensors(), wanted.codebook),
        step(role, parameters, step_settings(config, wanted), work()) {}

  WindowWork work() {
    return {.losses = [this](const SoundWindows& windows) { return losses(windows); },
            .update = [this](const at::Tensor& skipped) { codebook.update(skipped); },
            .forget = [this] { codebook.clear(); }};
  }

  void on_the_way() const {
    if (settings.on_the_way && !settings.graphs) settings.on_the_way();
  }

  static at::Tensor encoded(const Dvae& dvae, const at::Tensor& mel) {
    MYXTTS_CHECK(mel.size(2) % 4 == 0, "windows of {} frames do not make whole codes", mel.size(2));
    return dvae.encode(mel);
  }

  Errors errors_of(const at::Tensor& mel, const at::Tensor& z, const at::Tensor& entries) const {
    // Straight through: the value of the entries, the gradient of z.
    const auto difference = dvae.decode(z + (entries - z).detach()) - mel;
    return {.reconstruction = of_each(difference.square()),
            .commitment = of_each((entries.detach() - z).square()),
            .mel = of_each(difference.detach().abs() * mel_stats)};
  }

  WindowWork::Losses losses(const SoundWindows& windows) {
    const auto z = encoded(dvae, windows.mel);
    on_the_way();
    const auto errors = errors_of(windows.mel, z, codebook.meet(z, windows.weights));
    on_the_way();
    const auto shares = windows.weights / windows.weights.sum().clamp_min(1);
    const auto mean = [&shares](const at::Tensor& values) { return values.dot(shares); };
    const auto reconstruction = mean(errors.reconstruction);
    const auto commitment = mean(errors.commitment);
    return {.trained = reconstruction + commitment * settings.commitment,
            .told = at::stack({reconstruction.detach(), commitment.detach(), codebook.perplexity(),
                               codebook.share_in_use(), mean(errors.mel)})};
  }

  // Sums and counts, [2, losses].
  at::Tensor measure(const SoundWindows& windows) const {
    const auto z = encoded(dvae, windows.mel);
    const auto codes = dvae.quantise(z);  // [W, n]
    const auto errors = errors_of(windows.mel, z, dvae.look_up(codes));
    const auto numbers = at::arange(codes_in_all(), codes.options());
    const auto counts =
        (codes.unsqueeze(2).eq(numbers).to(at::kFloat) * windows.weights.view({-1, 1, 1}))
            .sum(at::IntArrayRef{0, 1});
    const auto windows_seen = windows.weights.sum();
    const auto sum = [&windows](const at::Tensor& values) { return values.dot(windows.weights); };
    const auto used = counts.gt(0).to(at::kFloat).mean();
    const auto sums =
        at::stack({sum(errors.reconstruction), sum(errors.commitment),
                   perplexity_of(counts) * windows_seen, used * windows_seen, sum(errors.mel)});
    return at::stack({sums, windows_seen.expand_as(sums)});
  }

  std::int64_t codes_in_all() const {
    return parameters.tensors().at("codebook.cluster_size").size(0);
  }

  const DvaeTrainingSettings settings;
  const NamedTensors counters;  // on the CPU
  const at::Tensor mel_stats;   // [1, bands, 1]
  Parameters parameters;
  Dvae dvae;
  LearnedCodebook codebook;
  WindowStep step;  // last: it may record the work of the others
};

DvaeTraining::DvaeTraining(const DvaeConfig& config, const NamedTensors& weights,
                           const at::Tensor& mel_stats, RoleDevice& device,
                           const DvaeTrainingSettings& settings) {
  const auto scope = device.enter(device.stream());
  try {
    state_ = std::make_unique<State>(config, weights, mel_stats, device, settings);
  } catch (const c10::Error&) {
    device.rethrow();
  }
}

DvaeTraining::~DvaeTraining() = default;

const std::vector<std::string>& DvaeTraining::loss_names() const {
  return names_of_losses();
}

double DvaeTraining::total(std::span<const double> losses) const {
  return losses[0] + state_->settings.commitment * losses[1];
}

void DvaeTraining::accumulate(DeviceBatch& batch) {
  state_->step.accumulate(batch);
}

void DvaeTraining::update(double learning_rate) {
  state_->step.update(learning_rate);
}

std::int64_t DvaeTraining::step() const {
  return state_->step.step();
}

RoleDevice& DvaeTraining::device() const {
  return state_->step.device();
}

std::vector<StepNumbers> DvaeTraining::take_numbers() {
  return state_->step.numbers().take();
}

std::vector<StepNumbers> DvaeTraining::finish_numbers() {
  return state_->step.numbers().finish();
}

at::Tensor DvaeTraining::evaluate(DeviceBatch& batch) {
  return state_->step.evaluate(
      batch, [this](const SoundWindows& windows) { return state_->measure(windows); });
}

std::vector<std::string> DvaeTraining::overflowed() const {
  return state_->step.overflowed();
}

NamedTensors DvaeTraining::weights() const {
  NamedTensors all = state_->parameters.named_weights();
  all.insert(state_->counters.begin(), state_->counters.end());
  return all;
}

NamedTensors DvaeTraining::optimiser() const {
  NamedTensors all = state_->step.optimiser().tensors();
  all.merge(state_->codebook.tensors());
  return all;
}

NamedTensors DvaeTraining::kept() const {
  NamedTensors all = optimiser();
  for (const auto& [name, weight] : weights()) all.emplace("weight." + name, weight);
  for (const auto& [name, tensor] : state_->parameters.tensors()) {
    if (tensor.grad().defined()) all.emplace("gradient." + name, tensor.grad());
  }
  return all;
}

void DvaeTraining::restore(std::int64_t step, const NamedTensors& weights,
                           const NamedTensors& optimiser) {
  State& s = *state_;
  s.step.restore(step, [&] {
    s.parameters.load(weights);
    s.step.optimiser().load(optimiser);
    for (auto& [name, tensor] : s.codebook.tensors()) {
      tensor.copy_(find_tensor(optimiser, name, tensor.sizes()));
    }
  });
}

}  // namespace myxtts
