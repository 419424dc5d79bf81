// SPDX-License-Identifier: Apache-2.0
#include "train/dvae/learned_codebook.h"

#include <cmath>

#include <ATen/ATen.h>

#include "audio/exact_ops.h"
#include "model/dvae.h"

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
  keep(embed_, averages / smoothed);
  keep(embed_avg_, averages);
  keep(cluster_size_, sizes);
  keep(use_, window());
  clear();
}

void LearnedCodebook::clear() {
  counts_.zero_();
  sums_.zero_();
}

NamedTensors LearnedCodebook::tensors() const {
  return {{"code_use", use_}};
}

at::Tensor perplexity_of(const at::Tensor& counts) {
  const auto shares = counts / counts.sum().clamp_min(1e-12);
  return at::special_entr(shares).sum().exp();
}

}  // namespace myxtts
