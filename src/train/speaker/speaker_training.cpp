// SPDX-License-Identifier: Apache-2.0
#include "train/speaker/speaker_training.h"

#include <ATen/ATen.h>

#include "base/error.h"
#include "device/torch_device.h"
#include "model/initialise.h"
#include "model/speaker_encoder.h"
#include "model/speaker_encoder_specs.h"
#include "train/frozen.h"
#include "train/parameters.h"
#include "train/speaker/running_statistics.h"
#include "train/window_step.h"

namespace myxtts {
namespace {

const std::string kHead = "speaker_head.weight";  // [speakers, dim]; no tensor of the model

const std::vector<std::string>& names_of_losses() {
  static const std::vector<std::string> names = {"speaker_loss", "accuracy", "cosine_gap"};
  return names;
}

SpeakerTrainingSettings checked(const SpeakerTrainingSettings& settings) {
  if (settings.speakers < 2) {
    throw ConfigError(
        "The corpus has one speaker, and a speaker encoder learns from telling several apart. A "
        "decoder of one voice needs no trained encoder: its speaker vector is that of an encoder "
        "of fixed random weights, nearly the same for every clip. Leave the stage speaker out.");
  }
  return settings;
}

TensorSpec head_spec(std::int64_t speakers, std::int64_t dim) {
  return {.name = kHead, .shape = {speakers, dim}, .init = Init::Normal, .scale = 1.0};
}

ParameterLayout layout_of(const SpeakerEncoderConfig& config,
                          const SpeakerTrainingSettings& settings) {
  TensorSpecs specs;
  std::vector<std::string> names;
  for (auto spec : speaker_encoder_specs(config)) {
    if (spec.role == TensorRole::Counter) continue;
    spec.name = kSpeakerEncoderPrefix + spec.name;
    specs.push_back(spec);
    if (spec.role == TensorRole::Parameter) names.push_back(spec.name);
  }
  specs.push_back(head_spec(settings.speakers, config.output_dim));
  return lay_out(specs, "", frozen_names(names, settings.freeze));
}

NamedTensors with_head(NamedTensors weights, const SpeakerEncoderConfig& config,
                       const SpeakerTrainingSettings& settings) {
  weights.merge(initialise({head_spec(settings.speakers, config.output_dim)}, settings.seed));
  return weights;
}

WindowStepSettings step_settings(const SpeakerTrainingSettings& settings) {
  SoundWindows windows;
  if (settings.graphs) {
    windows.weights = at::zeros({settings.windows}, at::kFloat);
    windows.sound = at::zeros({settings.windows, settings.samples}, at::kFloat);
    windows.speakers = at::zeros({settings.windows}, at::kLong);
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

// The windows of weight 1 over and over in the places of those of weight 0, which are silence and
// would count in a batch's statistics.
at::Tensor without_silence(const SoundWindows& windows) {
  const auto places = at::arange(windows.weights.size(0), windows.speakers.options());
  const auto count = windows.weights.sum().clamp_min(1).to(at::kLong);
  return windows.sound.index_select(0, at::remainder(places, count));
}

}  // namespace

struct SpeakerTraining::State {
  State(const SpeakerEncoderConfig& sizes, const NamedTensors& weights, RoleDevice& role,
        const SpeakerTrainingSettings& wanted)
      : config(sizes),
        settings(checked(wanted)),
        parameters(layout_of(sizes, wanted), with_head(weights, sizes, wanted), torch_device(role),
                   at::kFloat, /*fixed_gradients=*/true),
        statistics(speaker_encoder_specs(sizes), kSpeakerEncoderPrefix, parameters.tensors(),
                   weights),
        encoder(sizes, statistics.with_draft(parameters.tensors()), kSpeakerEncoderPrefix,
                SpeakerEncoder::Mode::Training),
        step(role, parameters, step_settings(wanted), work()) {}

  WindowWork work() {
    return {.losses = [this](const SoundWindows& windows) { return losses(windows); },
            .update = [this](const at::Tensor& skipped) { statistics.update(skipped); },
            .forget = [this] { statistics.clear(); }};
  }

  const at::Tensor& directions() const { return parameters.tensors().at(kHead); }

  // Of each window [W]; and of the batch.
  struct Found {
    at::Tensor loss;
    at::Tensor right;  // 1 or 0
    at::Tensor gap;
  };

  Found found(const at::Tensor& vectors, const SoundWindows& windows,
              const SpeakerHeadRule& rule) const {
    const auto cosines = speaker_cosines(vectors, directions());
    const auto logits = speaker_logits(cosines, windows.speakers, rule);
    return {.loss = at::cross_entropy_loss(logits, windows.speakers, {}, at::Reduction::None),
            .right = cosines.detach().argmax(1).eq(windows.speakers).to(at::kFloat),
            .gap = cosine_gap(vectors.detach(), windows.speakers, windows.weights)};
  }

  WindowWork::Losses losses(const SoundWindows& windows) {
    const auto vectors = encoder.unscaled(without_silence(windows));
    statistics.count_pass();
    if (settings.on_the_way && !settings.graphs) settings.on_the_way();
    const auto batch = found(vectors, windows, settings.head);
    const auto shares = windows.weights / windows.weights.sum().clamp_min(1);
    const auto loss = batch.loss.dot(shares);
    return {.trained = loss,
            .told = at::stack({loss.detach(), batch.right.dot(shares), batch.gap})};
  }

  // Sums and counts, [2, losses].
  at::Tensor measure(const SoundWindows& windows) const {
    const SpeakerEncoder frozen(config, parameters.tensors());
    SpeakerHeadRule rule = settings.head;
    rule.margin = 0;
    const auto batch = found(frozen.unscaled(windows.sound), windows, rule);
    const auto seen = windows.weights.sum();
    const auto sums = at::stack(
        {batch.loss.dot(windows.weights), batch.right.dot(windows.weights), batch.gap * seen});
    return at::stack({sums, seen.expand_as(sums)});
  }

  const SpeakerEncoderConfig config;
  const SpeakerTrainingSettings settings;
  Parameters parameters;
  RunningStatistics statistics;
  SpeakerEncoder encoder;
  WindowStep step;  // last: it may record the work of the others
};

SpeakerTraining::SpeakerTraining(const SpeakerEncoderConfig& config, const NamedTensors& weights,
                                 RoleDevice& device, const SpeakerTrainingSettings& settings) {
  const auto scope = device.enter(device.stream());
  try {
    state_ = std::make_unique<State>(config, weights, device, settings);
  } catch (const c10::Error&) {
    device.rethrow();
  }
}

SpeakerTraining::~SpeakerTraining() = default;

const std::vector<std::string>& SpeakerTraining::loss_names() const {
  return names_of_losses();
}

double SpeakerTraining::total(std::span<const double> losses) const {
  return losses[0];
}

void SpeakerTraining::accumulate(DeviceBatch& batch) {
  state_->step.accumulate(batch);
}

void SpeakerTraining::update(double learning_rate) {
  state_->step.update(learning_rate);
}

std::int64_t SpeakerTraining::step() const {
  return state_->step.step();
}

RoleDevice& SpeakerTraining::device() const {
  return state_->step.device();
}

std::vector<StepNumbers> SpeakerTraining::take_numbers() {
  return state_->step.numbers().take();
}

std::vector<StepNumbers> SpeakerTraining::finish_numbers() {
  return state_->step.numbers().finish();
}

at::Tensor SpeakerTraining::evaluate(DeviceBatch& batch) {
  return state_->step.evaluate(
      batch, [this](const SoundWindows& windows) { return state_->measure(windows); });
}

std::vector<std::string> SpeakerTraining::overflowed() const {
  return state_->step.overflowed();
}

NamedTensors SpeakerTraining::weights() const {
  NamedTensors all = state_->parameters.named_weights();
  all.erase(kHead);
  all.merge(state_->statistics.counters());
  return all;
}

NamedTensors SpeakerTraining::optimiser() const {
  NamedTensors all = state_->step.optimiser().tensors();
  all.emplace(kHead, state_->parameters.named_weights().at(kHead));
  return all;
}

NamedTensors SpeakerTraining::kept() const {
  NamedTensors all = optimiser();
  for (const auto& [name, weight] : weights()) all.emplace("weight." + name, weight);
  for (const auto& [name, tensor] : state_->parameters.tensors()) {
    if (tensor.grad().defined()) all.emplace("gradient." + name, tensor.grad());
  }
  return all;
}

void SpeakerTraining::restore(std::int64_t step, const NamedTensors& weights,
                              const NamedTensors& optimiser) {
  State& s = *state_;
  s.step.restore(step, [&] {
    NamedTensors all = weights;
    all.insert_or_assign(kHead,
                         find_tensor(optimiser, kHead, {s.settings.speakers, s.config.output_dim}));
    s.parameters.load(all);
    s.step.optimiser().load(optimiser);
    for (auto& [name, counter] : s.statistics.counters()) {
      counter.copy_(find_tensor(weights, name, counter.sizes()));
    }
  });
}

}  // namespace myxtts
