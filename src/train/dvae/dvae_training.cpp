// SPDX-License-Identifier: Apache-2.0
#include "train/dvae/dvae_training.h"

#include <cmath>

#include <ATen/ATen.h>

#include "audio/exact_ops.h"
#include "base/error.h"
#include "device/torch_device.h"
#include "model/dvae.h"
#include "model/network_specs.h"
#include "train/frozen.h"
#include "train/step/parameters.h"
#include "train/step/window_step.h"

namespace myxtts {
namespace {

constexpr double kEpsilon = 1e-5;  // the peer's, on cluster sizes

}  // namespace

LearnedCodebook::LearnedCodebook(const NamedTensors& tensors, const CodebookRule& rule)
    : rule_(rule),
      embed_(tensors.at("codebook.embed")),
      embed_avg_(tensors.at("codebook.embed_avg")),
      cluster_size_(tensors.at("codebook.cluster_size")),
      use_(at::zeros_like(cluster_size_)),
      new_steps_(at::zeros({1}, cluster_size_.options().dtype(at::kLong))),
      numbers_(at::arange(cluster_size_.size(0), cluster_size_.options().dtype(at::kLong))),
      counts_(at::zeros_like(cluster_size_)),
      sums_(at::zeros_like(embed_)),
      drawn_(at::zeros_like(embed_)) {}

at::Tensor LearnedCodebook::is_new() const {
  return cluster_size_.sum().eq(0);
}

at::Tensor LearnedCodebook::meet(const at::Tensor& z, const at::Tensor& weights) {
  const at::NoGradGuard no_grad;
  const auto rows = z.detach().transpose(1, 2).reshape({-1, z.size(1)});  // [W * n, dim]
  const auto row_weights = weights.unsqueeze(1).expand({-1, z.size(2)}).reshape({-1, 1});
  draw(rows, row_weights.squeeze(1));

  const auto embed = at::where(is_new(), drawn_, embed_);
  const auto codes = Dvae::nearest(z.detach(), embed);  // [W, n]
  const auto chosen = codes.view({-1, 1}).eq(numbers_).to(at::kFloat) * row_weights;
  counts_.add_(chosen.sum(0));
  sums_.add_(exact_matmul(rows.t(), chosen));
  return Dvae::entries_of(codes, embed);
}

// As many rows as there are codes, no row twice before each was drawn once.
void LearnedCodebook::draw(const at::Tensor& rows, const at::Tensor& weights) {
  // Rows without weight come last.
  const auto keys = at::rand({rows.size(0)}, rows.options()) + weights;
  const auto order = keys.argsort(/*stable=*/true, /*dim=*/0, /*descending=*/true);
  const auto count = weights.sum().clamp_min(1).to(at::kLong);
  const auto picks = order.index_select(0, at::remainder(numbers_, count));
  drawn_.copy_(rows.index_select(0, picks).t());
}

at::Tensor LearnedCodebook::window() const {
  return use_ * rule_.use_decay + counts_;
}

at::Tensor LearnedCodebook::perplexity() const {
  return perplexity_of(window());
}

at::Tensor LearnedCodebook::share_in_use() const {
  const double once_in_a_hundred_steps = std::pow(rule_.use_decay, 100);
  return window().ge(once_in_a_hundred_steps).to(at::kFloat).mean();
}

void LearnedCodebook::update(const at::Tensor& skipped) {
  const at::NoGradGuard no_grad;
  const auto good = skipped.eq(0);
  const auto keep = [&good](const at::Tensor& to, const at::Tensor& from) {
    to.copy_(at::where(good, from, to));
  };
  // Note [A codebook stays alive]
  const auto first = is_new();
  const auto still_new = first & new_steps_.lt(rule_.begin_steps - 1);
  auto sizes = at::where(first, at::ones_like(cluster_size_), cluster_size_);
  auto averages = at::where(first, drawn_, embed_avg_);
  sizes = sizes * rule_.decay + counts_ * (1.0 - rule_.decay);
  averages = averages * rule_.decay + sums_ * (1.0 - rule_.decay);

  const auto mean = sizes.mean();
  const auto unused = sizes < mean * rule_.least_use;
  sizes = at::where(unused, mean, sizes);
  averages = at::where(unused, drawn_ * mean, averages);

  const auto all = sizes.sum();
  const double codes = static_cast<double>(sizes.size(0));
  const auto smoothed = (sizes + kEpsilon) / (all + codes * kEpsilon) * all;
  keep(embed_, at::where(still_new, drawn_, averages / smoothed));
  keep(embed_avg_, at::where(still_new, drawn_, averages));
  keep(cluster_size_, at::where(still_new, cluster_size_, sizes));
  keep(use_, at::where(still_new, at::zeros_like(use_), window()));  // codes mean nothing yet
  new_steps_.add_(first & good);
  clear();
}

void LearnedCodebook::clear() {
  counts_.zero_();
  sums_.zero_();
}

NamedTensors LearnedCodebook::tensors() const {
  return {{"code_use", use_}, {"new_codebook_steps", new_steps_}};
}

at::Tensor perplexity_of(const at::Tensor& counts) {
  const auto shares = counts / counts.sum().clamp_min(1e-12);
  return at::special_entr(shares).sum().exp();
}

namespace {

const std::vector<std::string>& names_of_dvae_losses() {
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
                        .losses = std::ssize(names_of_dvae_losses())},
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
  return names_of_dvae_losses();
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
