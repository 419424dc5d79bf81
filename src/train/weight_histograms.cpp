// SPDX-License-Identifier: Apache-2.0
#include "train/weight_histograms.h"

#include <cmath>

#include <ATen/ATen.h>

namespace myxtts {
namespace {

constexpr std::int64_t kRanges = 64;

std::vector<double> numbers_of(const at::Tensor& tensor) {
  const auto host = tensor.to(at::kCPU, at::kDouble).contiguous();
  return {host.const_data_ptr<double>(), host.const_data_ptr<double>() + host.numel()};
}

std::vector<double> upper_bounds(double least, double most) {
  std::vector<double> bounds;
  for (std::int64_t range = 1; range <= kRanges; ++range) {
    bounds.push_back(least + (most - least) * static_cast<double>(range) / kRanges);
  }
  return bounds;
}

HistogramCounts count(const at::Tensor& values) {
  const auto facts =
      numbers_of(at::stack({values.min().to(at::kDouble), values.max().to(at::kDouble),
                            values.sum(at::kDouble), values.square().sum(at::kDouble)}));
  HistogramCounts counts{.least = facts[0],
                         .most = facts[1],
                         .count = static_cast<double>(values.numel()),
                         .sum = facts[2],
                         .sum_of_squares = facts[3]};
  if (!std::isfinite(counts.sum_of_squares)) return counts;
  // Where all values are the same, histc would choose a range of its own.
  if (!(counts.least < counts.most)) {
    counts.upper_bounds = {counts.most};
    counts.counts = {counts.count};
    return counts;
  }
  counts.upper_bounds = upper_bounds(counts.least, counts.most);
  counts.counts = numbers_of(at::histc(values, kRanges, counts.least, counts.most));
  return counts;
}

}  // namespace

NamedHistograms weight_histograms(const NamedTensors& weights) {
  NamedHistograms histograms;
  for (const auto& [name, tensor] : weights) {
    if (!tensor.is_floating_point() || tensor.numel() == 0) continue;
    HistogramCounts counts = count(tensor.detach().to(at::kFloat).flatten());
    if (std::isfinite(counts.sum_of_squares)) histograms[name] = std::move(counts);
  }
  return histograms;
}

}  // namespace myxtts
