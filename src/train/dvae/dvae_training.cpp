// SPDX-License-Identifier: Apache-2.0
#include "train/dvae/dvae_training.h"

#include <array>
#include <cmath>

#include <ATen/ATen.h>

#include "audio/exact_ops.h"
#include "base/error.h"
#include "data/batches/sound_window.h"
#include "device/torch_device.h"
#include "model/dvae.h"
#include "model/network_specs.h"
#include "run/open_model.h"
#include "train/step/window_training.h"

namespace myxtts {
namespace {

constexpr double kEpsilon = 1e-5;  // on cluster sizes, as coqui-tts has it

// Of counts [codes]: 1 to the number of codes.
at::Tensor perplexity_of(const at::Tensor& counts) {
  const auto shares = counts / counts.sum().clamp_min(1e-12);
  return at::special_entr(shares).sum().exp();
}

// The DVAE's codebook while it is trained. It has no gradient: each entry is the average of the
// encoder's outputs that were nearest to it, over the last hundred steps or so.
//
//   for each batch:  quantise(z, weights)  what its z are rounded to, and what they add to averages
//   once a step:     update(skipped)
//
// Note [A codebook stays alive]
// A code that nothing is nearest to never moves, so most of a codebook that begins at random
// numbers is dead from the first step on. One that begins at outputs of the encoder is dead soon,
// too, as a new encoder's outputs move faster than averages over a hundred steps. So while a
// codebook is new (its cluster sizes are all 0), each batch is rounded to outputs of its own that
// are drawn at random; only behind begin_steps do those of the last step become its entries, each
// as if used once. And a code whose average use has fallen below least_use of the mean begins anew
// at such an output of the step: from the mean use that takes three hundred steps of no use.
//
// Everything stays on the device, and no shape depends on data, so both may stand in a graph. Draws
// come from LibTorch's generator of the device: seed it before each batch.
class LearnedCodebook {
 public:
  // Shares the tensors of the public layout: codebook.embed, .embed_avg, .cluster_size.
  LearnedCodebook(const NamedTensors& tensors, const CodebookRule& rule);

  // The entries [W, dim, n] nearest to z [W, dim, n]. Windows of weight 0 count for nothing; they
  // stand behind the others. Without gradient.
  at::Tensor quantise(const at::Tensor& z, const at::Tensor& weights);

  // exp of the entropy of the codes' use, and the share of codes in use at all: fp32 scalars, over
  // the last hundred steps and the batches of this one.
  at::Tensor perplexity() const;
  at::Tensor share_in_use() const;

  // Averages and entries after the batches of a step; nothing where `skipped`, int32 scalar, is not
  // 0.
  void update(const at::Tensor& skipped);

  // Forgets batches that no update follows.
  void clear();

  // What a checkpoint keeps besides the public layout, sharing memory.
  NamedTensors tensors() const;

 private:
  at::Tensor is_new() const;
  void draw(const at::Tensor& rows, const at::Tensor& weights);
  at::Tensor window() const;

  const CodebookRule rule_;
  at::Tensor embed_;         // [dim, codes]
  at::Tensor embed_avg_;     // [dim, codes]
  at::Tensor cluster_size_;  // [codes]
  at::Tensor use_;           // [codes] counts, older ones for less
  at::Tensor new_steps_;     // [1] int64: steps that the codebook was new in
  at::Tensor numbers_;       // [codes] int64: 0, 1, 2 ...

  // Of the step at work.
  at::Tensor counts_;  // [codes]
  at::Tensor sums_;    // [dim, codes]
  at::Tensor drawn_;   // [dim, codes] outputs of the encoder that codes may begin with
};

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

at::Tensor LearnedCodebook::quantise(const at::Tensor& z, const at::Tensor& weights) {
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

ParameterLayout layout_of(const DvaeConfig& config, const std::vector<std::string>& freeze) {
  const auto specs = dvae_specs(config);
  return lay_out(specs, "", frozen_parameters(specs, "", freeze));
}

SoundWindows windows_of(const DvaeConfig& config, const DvaeTrainingSettings& settings) {
  SoundWindows windows;
  windows.weights = at::zeros({settings.windows}, at::kFloat);
  windows.mel = at::zeros({settings.windows, config.mel_bands, settings.frames}, at::kFloat);
  return windows;
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

class DvaeTraining final : public WindowTraining {
 public:
  DvaeTraining(RoleDevice& device, const DvaeConfig& config, const NamedTensors& weights,
               const at::Tensor& mel_stats, const DvaeTrainingSettings& settings)
      : WindowTraining(device, settings.step,
                       {"reconstruction", "commitment", "perplexity", "codes_used", "mel_error"},
                       layout_of(config, settings.step.freeze), weights),
        settings_(settings),
        counters_(counters_of(config, weights)),
        mel_stats_(mel_stats.to(torch_device(device)).view({1, -1, 1})),
        dvae_(config, parameters().tensors()),
        codebook_(parameters().tensors(), settings.codebook) {
    record_graphs(windows_of(config, settings));
  }

  double total(std::span<const double> losses) const override {
    return losses[0] + settings_.commitment * losses[1];
  }

  NamedTensors weights() const override {
    NamedTensors all = parameters().named_weights();
    all.insert(counters_.begin(), counters_.end());
    return all;
  }

  NamedTensors optimiser() const override {
    NamedTensors all = WindowTraining::optimiser();
    all.merge(codebook_.tensors());
    return all;
  }

 private:
  at::Tensor encoded(const at::Tensor& mel) const {
    MYXTTS_CHECK(mel.size(2) % 4 == 0, "windows of {} frames do not make whole codes", mel.size(2));
    return dvae_.encode(mel);
  }

  // Of each window [W]: the squared error of the mel, the squared distance of z from its entry, and
  // the error of the mel in its own units.
  std::array<at::Tensor, 3> errors_of(const at::Tensor& mel, const at::Tensor& z,
                                      const at::Tensor& entries) const {
    const auto mean = [](const at::Tensor& values) { return values.mean({1, 2}); };
    // Straight through: the value of the entries, the gradient of z.
    const auto difference = dvae_.decode(z + (entries - z).detach()) - mel;
    return {mean(difference.square()), mean((entries.detach() - z).square()),
            mean(difference.detach().abs() * mel_stats_)};
  }

  Losses losses(const SoundWindows& windows) override {
    const auto z = encoded(windows.mel);
    poll();
    const auto [error, distance, mel_error] =
        errors_of(windows.mel, z, codebook_.quantise(z, windows.weights));
    poll();
    const auto shares = windows.weights / windows.weights.sum().clamp_min(1);
    const auto mean = [&shares](const at::Tensor& values) { return values.dot(shares); };
    const auto reconstruction = mean(error);
    const auto commitment = mean(distance);
    return {
        .trained = reconstruction + commitment * settings_.commitment,
        .reported = at::stack({reconstruction.detach(), commitment.detach(), codebook_.perplexity(),
                               codebook_.share_in_use(), mean(mel_error)})};
  }

  // With the codebook as it is, in fp32.
  at::Tensor measure_windows(const SoundWindows& windows) const override {
    const auto z = encoded(windows.mel);
    const auto codes = dvae_.quantise(z);  // [W, n]
    const auto [error, distance, mel_error] = errors_of(windows.mel, z, dvae_.look_up(codes));
    const auto count = parameters().tensors().at("codebook.cluster_size").size(0);
    const auto numbers = at::arange(count, codes.options());
    const auto counts =
        (codes.unsqueeze(2).eq(numbers).to(at::kFloat) * windows.weights.view({-1, 1, 1}))
            .sum(at::IntArrayRef{0, 1});
    const auto windows_seen = windows.weights.sum();
    const auto sum = [&windows](const at::Tensor& values) { return values.dot(windows.weights); };
    const auto used = counts.gt(0).to(at::kFloat).mean();
    const auto sums = at::stack({sum(error), sum(distance), perplexity_of(counts) * windows_seen,
                                 used * windows_seen, sum(mel_error)});
    return at::stack({sums, windows_seen.expand_as(sums)});
  }

  void update_buffers(const at::Tensor& skipped) override { codebook_.update(skipped); }
  void clear_buffers() override { codebook_.clear(); }

  void load(const NamedTensors& weights, const NamedTensors& optimiser) override {
    WindowTraining::load(weights, optimiser);
    for (auto& [name, tensor] : codebook_.tensors()) {
      tensor.copy_(find_tensor(optimiser, name, tensor.sizes()));
    }
  }

  const DvaeTrainingSettings settings_;
  const NamedTensors counters_;  // on the CPU
  const at::Tensor mel_stats_;   // [1, bands, 1]
  Dvae dvae_;
  LearnedCodebook codebook_;
};

}  // namespace

std::unique_ptr<PartTraining> make_dvae_training(const DvaeConfig& config,
                                                 const NamedTensors& weights,
                                                 const at::Tensor& mel_stats, RoleDevice& device,
                                                 const DvaeTrainingSettings& settings) {
  return make_on<DvaeTraining>(device, config, weights, mel_stats, settings);
}

std::unique_ptr<PartTraining> make_dvae_training(const TrainingInputs& inputs) {
  const OpenModel& model = inputs.model;
  return make_dvae_training(model.config.dvae, model.dvae, model.model.at("mel_stats"),
                            inputs.device,
                            {.step = finer_step_settings(inputs),
                             .windows = inputs.windows.count(),
                             .frames = inputs.windows.length});
}

}  // namespace myxtts
