// SPDX-License-Identifier: Apache-2.0
#include "train/speaker/speaker_head.h"

#include <cmath>
#include <numbers>

#include <ATen/ATen.h>

namespace myxtts {
namespace {

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

}  // namespace myxtts
