// SPDX-License-Identifier: Apache-2.0
#include "train/gradient_exchange.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "../parallel/rank_threads.h"

namespace myxtts::test {
namespace {

// Three layers, the first of which is larger than a bucket.
const TensorSpecs kSpecs{{.name = "first.weight", .shape = {3000, 1000}},
                         {.name = "second.weight", .shape = {10, 3000}},
                         {.name = "second.bias", .shape = {10}},
                         {.name = "unused.weight", .shape = {4}}};

struct Network {
  Network() : parameters(lay_out(kSpecs, "", {}), weights(), c10::kCPU, at::kFloat, true) {}

  static NamedTensors weights() {
    NamedTensors made;
    for (const auto& spec : kSpecs) {
      const auto numbers = at::arange(1, at::kFloat).expand(spec.shape).contiguous() + 0.01;
      made.emplace(spec.name, numbers);
    }
    return made;
  }

  at::Tensor loss(const at::Tensor& input) const {
    const NamedTensors& t = parameters.tensors();
    const auto hidden = at::tanh(at::mv(t.at("first.weight"), input));
    return (at::mv(t.at("second.weight"), hidden) + t.at("second.bias")).square().sum();
  }

  Parameters parameters;
};

double largest(const at::Tensor& numbers) {
  return numbers.abs().max().item<double>();
}

at::Tensor input_of(int rank, int step) {
  return at::sin(at::arange(1000, at::kFloat) * (rank + 1) + step);
}

at::Tensor gradients_alone(int ranks, int step) {
  const Network network;
  for (int rank = 0; rank < ranks; ++rank) network.loss(input_of(rank, step)).backward();
  return network.parameters.gradients().clone();
}

std::vector<at::Tensor> gradients_of_ranks(int ranks, int step, Wire wire) {
  std::vector<at::Tensor> found(static_cast<std::size_t>(ranks));
  const auto failures = with_ranks(ranks, [&](RankTeam& team) {
    Network network;
    GradientExchange exchange(team, network.parameters, wire);
    const int rank = team.world().rank;
    for (int before = 0; before <= step; ++before) {
      network.parameters.gradients().zero_();
      auto told = at::full({2}, static_cast<float>(rank + 1));
      exchange.open();
      network.loss(input_of(rank, before)).backward();
      exchange.finish({}, told);
      EXPECT_EQ(told[1].item<float>(), static_cast<float>(ranks * (ranks + 1) / 2));
    }
    found[static_cast<std::size_t>(rank)] = network.parameters.gradients().clone();
  });
  for (const auto& failure : failures) EXPECT_EQ(failure, "");
  return found;
}

// In the first step nothing overlaps; the second has the order of the first.
TEST(GradientExchange, SumsAreTheGradientOfAllBatches) {
  for (const int step : {0, 1, 2}) {
    const auto wanted = gradients_alone(3, step);
    const auto found = gradients_of_ranks(3, step, Wire::Fp32);
    EXPECT_LT(largest(found[0] - wanted), largest(wanted) * 1e-5);
    EXPECT_GT(largest(wanted - gradients_alone(2, step)), largest(wanted) * 1e-2);
    EXPECT_TRUE(found[0].equal(found[1]));
    EXPECT_TRUE(found[0].equal(found[2]));
  }
}

TEST(GradientExchange, ShortNumbersOnTheWireRoundTheSum) {
  const auto wanted = gradients_alone(2, 1);
  const auto found = gradients_of_ranks(2, 1, Wire::Bf16);
  const double error = largest(found[0] - wanted);
  EXPECT_LT(error, largest(wanted) * 0.02);
  EXPECT_GT(error, 0.0);
  EXPECT_TRUE(found[0].equal(found[1]));
}

// With several batches a step, only the last pass may send.
TEST(GradientExchange, PassesBeforeTheLastSendNothing) {
  const auto failures = with_ranks(2, [&](RankTeam& team) {
    Network network;
    GradientExchange exchange(team, network.parameters, Wire::Fp32);
    const int rank = team.world().rank;
    for (int step = 0; step < 2; ++step) {
      network.parameters.gradients().zero_();
      network.loss(input_of(rank, 5)).backward();
      exchange.open();
      network.loss(input_of(rank, 6)).backward();
      exchange.finish({}, at::zeros({1}));
    }
    const auto wanted = gradients_alone(2, 5) + gradients_alone(2, 6);
    EXPECT_LT(largest(network.parameters.gradients() - wanted), largest(wanted) * 1e-5);
  });
  for (const auto& failure : failures) EXPECT_EQ(failure, "");
}

}  // namespace
}  // namespace myxtts::test
