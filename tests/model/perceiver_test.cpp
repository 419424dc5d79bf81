// SPDX-License-Identifier: Apache-2.0
#include "model/conditioning.h"

#include <cmath>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "model/gpt_specs.h"
#include "model/named_tensors.h"

namespace myxtts::test::perceiver_test {
namespace {

const std::string kPart = "conditioning_perceiver.";

class PerceiverFromNothing : public testing::Test {
 protected:
  PerceiverFromNothing() {
    for (auto& [name, tensor] : initialise(gpt_specs(config_), 3)) {
      if (name.starts_with(kPart)) weights_.emplace(name, tensor.requires_grad_(true));
    }
  }

  Perceiver perceiver() const { return {config_, TensorScope(weights_, kPart)}; }

  at::Tensor& weight(const std::string& name) { return weights_.at(kPart + name); }

  // Gradients of an output that is pushed in some direction, which no target explains.
  void push(const at::Tensor& frames) {
    for (auto& [name, tensor] : weights_) tensor.mutable_grad() = at::Tensor();
    const auto out = perceiver()(frames);
    (out * at::randn_like(out)).mean().backward();
  }

  static GptConfig small_config() {
    GptConfig config = model_preset("tiny").gpt;
    config.width = 32;
    config.perceiver_latents = 4;
    config.perceiver_heads = 2;
    config.perceiver_head_width = 8;
    return config;
  }

  GptConfig config_ = small_config();
  NamedTensors weights_;
};

// Layers that add nothing leave the learned latents as they are: their gradient along themselves is
// then 0 by the norm, and what is there is the leash's.
TEST_F(PerceiverFromNothing, LatentsOnALeashArePulledBackByTheirExcess) {
  const at::NoGradGuard no_grad;
  for (const std::string layer : {"layers.0", "layers.1"}) {
    weight(layer + ".0.to_out.weight").zero_();
    weight(layer + ".1.2.weight").zero_();
    weight(layer + ".1.2.bias").zero_();
  }
  auto& latents = weight("latents");
  const double target = std::sqrt(static_cast<double>(config_.width));
  const auto frames = at::randn({1, 5, config_.width});
  const auto unit = latents / latents.norm(2, -1, true);
  for (const auto& [times, pull] : {std::pair{900.0, 0.0}, {1000.0 * std::exp(2.0), 2.0}}) {
    latents.copy_(unit * (target * times));
    {
      const at::AutoGradMode grad(true);
      push(frames);
    }
    const auto along = (latents.grad() * unit).sum(-1);  // [latents]
    const auto sideways = (latents.grad() - along.unsqueeze(-1) * unit).norm(2, -1);
    EXPECT_GT(sideways.min().item<double>(), 0.0);
    EXPECT_LT((along / sideways - pull).abs().max().item<double>(), 1e-3) << times;
  }
}

// Of steps of one size for each weight, as AdamW takes them, in directions of chance, which are
// large so that few are needed. The gradient of what is added last is one over the latents' length.
// The leash holds that to a few thousand times the first; without it, it is 1e14 times as long.
TEST_F(PerceiverFromNothing, LatentsDoNotGrowWithoutBound) {
  const auto last_gradient = [this] {
    return weight("layers.1.1.2.bias").grad().norm().item<double>();
  };
  const auto frames = [this] { return at::randn({2, 5, config_.width}); };
  push(frames());
  const double first = last_gradient();
  for (int step = 0; step < 150; ++step) {
    push(frames());
    const at::NoGradGuard no_grad;
    for (auto& [name, tensor] : weights_) tensor.sub_(tensor.grad().sign(), 4e-2);
  }
  EXPECT_LT(first / last_gradient(), 1e8);
}

}  // namespace
}  // namespace myxtts::test::perceiver_test
