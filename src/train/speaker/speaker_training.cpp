// SPDX-License-Identifier: Apache-2.0
#include "train/speaker/speaker_training.h"

#include <cmath>
#include <numbers>

#include <ATen/ATen.h>
#include <ATen/core/Tensor.h>

#include "base/error.h"
#include "device/torch_device.h"
#include "model/named_tensors.h"
#include "model/network_specs.h"
#include "model/speaker_encoder.h"
#include "model/tensor_spec.h"
#include "train/frozen.h"
#include "train/step/parameters.h"
#include "train/step/window_step.h"

namespace myxtts {
namespace {

// What batch normalisation keeps of the batches it saw: means, variances, and how many there were.
// Passes write into a draft, which counts once their step does.
class RunningStatistics {
 public:
  // `tensors` are the network's, by the names of `specs` behind `prefix`; means and variances are
  // shared. The counters come from `weights` and are copied to the device of the others.
  RunningStatistics(const TensorSpecs& specs, const std::string& prefix,
                    const NamedTensors& tensors, const NamedTensors& weights);

  // `tensors` with the draft's means and variances in their places: for the network in training.
  NamedTensors with_draft(NamedTensors tensors) const;

  void count_pass() { passes_.add_(1); }

  // The draft counts, unless `skipped`, int32 [1], is not 0. Then the next draft begins.
  void update(const at::Tensor& skipped);
  void clear();

  // By the names of the public checkpoint, int64, sharing memory.
  NamedTensors counters() const;

 private:
  struct Pair {
    at::Tensor kept;
    at::Tensor draft;
  };

  std::map<std::string, Pair, std::less<>> pairs_;
  std::vector<std::string> counter_names_;
  at::Tensor counts_;  // [counters] int64
  at::Tensor passes_;  // [1] int64: of the draft
};

RunningStatistics::RunningStatistics(const TensorSpecs& specs, const std::string& prefix,
                                     const NamedTensors& tensors, const NamedTensors& weights) {
  std::vector<at::Tensor> counts;
  for (const auto& spec : specs) {
    const std::string name = prefix + spec.name;
    if (spec.role == TensorRole::Counter) {
      counter_names_.push_back(name);
      counts.push_back(find_tensor(weights, name, spec.shape).to(at::kCPU, at::kLong));
    } else if (name.ends_with(".running_mean") || name.ends_with(".running_var")) {
      const auto& kept = tensors.at(name);
      pairs_.emplace(name, Pair{.kept = kept, .draft = kept.clone()});
    }
  }
  const auto device = pairs_.begin()->second.kept.device();
  counts_ = at::stack(counts).to(device);
  passes_ = at::zeros({1}, counts_.options());
}

NamedTensors RunningStatistics::with_draft(NamedTensors tensors) const {
  for (const auto& [name, pair] : pairs_) tensors.at(name) = pair.draft;
  return tensors;
}

void RunningStatistics::update(const at::Tensor& skipped) {
  const at::NoGradGuard no_grad;
  const auto good = skipped.eq(0);
  for (const auto& [name, pair] : pairs_) {
    pair.kept.copy_(at::where(good, pair.draft, pair.kept));
  }
  counts_.add_(passes_ * good);
  clear();
}

void RunningStatistics::clear() {
  for (const auto& [name, pair] : pairs_) pair.draft.copy_(pair.kept);
  passes_.zero_();
}

NamedTensors RunningStatistics::counters() const {
  NamedTensors named;
  for (std::size_t i = 0; i < counter_names_.size(); ++i) {
    named.emplace(counter_names_[i], counts_.select(0, static_cast<std::int64_t>(i)));
  }
  return named;
}

constexpr double kLeastLength = 1e-12;
constexpr double kLeastSquare = 1e-6;  // of a sine, whose root has no gradient at 0

at::Tensor of_length_one(const at::Tensor& rows) {
  return rows / rows.norm(2, 1, /*keepdim=*/true).clamp_min(kLeastLength);
}

}  // namespace

at::Tensor speaker_cosines(const at::Tensor& vectors, const at::Tensor& directions) {
  return at::matmul(of_length_one(vectors), of_length_one(directions).t());
}

at::Tensor speaker_logits(const at::Tensor& cosines, const at::Tensor& speakers,
                          const SpeakerHeadRule& rule) {
  const auto sines = (1 - cosines.square()).clamp_min(kLeastSquare).sqrt();
  const auto wider = cosines * std::cos(rule.margin) - sines * std::sin(rule.margin);
  const double last = std::cos(std::numbers::pi - rule.margin);
  const auto right =
      at::where(cosines > last, wider, cosines - rule.margin * std::sin(rule.margin));
  const auto all = at::arange(cosines.size(1), speakers.options());
  return at::where(speakers.unsqueeze(1).eq(all), right, cosines) * rule.scale;
}

at::Tensor cosine_gap(const at::Tensor& vectors, const at::Tensor& speakers,
                      const at::Tensor& weights) {
  const auto cosines = speaker_cosines(vectors, vectors);  // [W, W]
  const auto others = 1 - at::eye(vectors.size(0), weights.options());
  const auto pairs = weights.unsqueeze(1) * weights.unsqueeze(0) * others;
  const auto same = speakers.unsqueeze(1).eq(speakers.unsqueeze(0)).to(at::kFloat);
  const auto mean = [&](const at::Tensor& mask) {
    return (cosines * mask).sum() / mask.sum().clamp_min(1);
  };
  const auto both = (same * pairs).sum().gt(0) & ((1 - same) * pairs).sum().gt(0);
  return (mean(same * pairs) - mean((1 - same) * pairs)) * both;
}

namespace {

const std::string kHead = "speaker_head.weight";  // [speakers, dim]; no tensor of the model

const std::vector<std::string>& names_of_speaker_losses() {
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
                        .losses = std::ssize(names_of_speaker_losses())},
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
  return names_of_speaker_losses();
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
