// SPDX-License-Identifier: Apache-2.0
#include "train/decoder/gan_losses.h"

#include <ATen/ATen.h>

namespace myxtts {
namespace {

at::Tensor squared_distance(const at::Tensor& scores, double wanted) {  // [W, ...] -> [W]
  return (scores.to(at::kFloat) - wanted).square().flatten(1).mean(1);
}

void add(at::Tensor& sum, const at::Tensor& loss) {
  sum = sum.defined() ? sum + loss : loss;
}

}  // namespace

at::Tensor discriminator_loss(const Judgement& recorded, const Judgement& made) {
  at::Tensor sum;
  for (const auto& scores : recorded.scores) add(sum, squared_distance(scores, 1));
  for (const auto& scores : made.scores) add(sum, squared_distance(scores, 0));
  return sum;
}

at::Tensor adversarial_loss(const Judgement& made) {
  at::Tensor sum;
  for (const auto& scores : made.scores) add(sum, squared_distance(scores, 1));
  return sum;
}

at::Tensor feature_loss(const Judgement& recorded, const Judgement& made) {
  at::Tensor sum;
  for (std::size_t i = 0; i < made.features.size(); ++i) {
    const auto distance = (recorded.features[i].detach() - made.features[i]).abs();
    add(sum, distance.mean({1, 2, 3}, /*keepdim=*/false, at::kFloat));
  }
  return sum;
}

}  // namespace myxtts
