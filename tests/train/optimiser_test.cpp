// SPDX-License-Identifier: Apache-2.0
#include "train/step/optimiser.h"

#include <limits>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "support/plain_device.h"

namespace myxtts::test::optimiser_test {
namespace {

// Neither begins where the one before it ends: gaps belong to nobody.
const TensorSpecs kSpecs{{.name = "first.weight", .shape = {3, 700}},
                         {.name = "frozen.weight", .shape = {5}},
                         {.name = "second.weight", .shape = {1025}},
                         {.name = "third.bias", .shape = {7}}};

class OverflowedGradients : public testing::Test {
 protected:
  OverflowedGradients()
      : parameters_(lay_out(kSpecs, "", {"frozen.weight"}), weights(), c10::kCPU, at::kFloat, true),
        optimiser_(parameters_, {}, device_) {}

  static NamedTensors weights() {
    NamedTensors made;
    for (const auto& spec : kSpecs) made.emplace(spec.name, at::ones(spec.shape));
    return made;
  }

  void update_with(const std::string& name, std::int64_t place, float gradient) {
    parameters_.gradients().fill_(0.5);
    parameters_.tensors().at(name).mutable_grad().view({-1}).fill_(0.5)[place] = gradient;
    optimiser_.update(++step_, 1e-3);
  }

  PlainDevice device_;
  Parameters parameters_;
  Optimiser optimiser_;
  std::int64_t step_ = 0;
};

TEST_F(OverflowedGradients, AreNamedByTheirParameter) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const std::vector<std::string> none;
  EXPECT_EQ(optimiser_.overflowed(), none);
  update_with("second.weight", 1024, std::numeric_limits<float>::quiet_NaN());
  EXPECT_EQ(optimiser_.overflowed(), std::vector<std::string>{"second.weight"});
  update_with("first.weight", 0, kInfinity);
  EXPECT_EQ(optimiser_.overflowed(), std::vector<std::string>{"first.weight"});
  update_with("first.weight", 2099, -kInfinity);
  EXPECT_EQ(optimiser_.overflowed(), std::vector<std::string>{"first.weight"});
  update_with("third.bias", 6, 1e25F);  // finite, but its square is not
  EXPECT_EQ(optimiser_.overflowed(), std::vector<std::string>{"third.bias"});
  update_with("third.bias", 6, 1.0F);
  EXPECT_EQ(optimiser_.overflowed(), none) << "of the last update alone";
}

float loss_scale(const Optimiser& optimiser) {
  return optimiser.tensors().at("loss_scale").item<float>();
}

// Only fp16 multiplies its loss; its scale in another precision would make every update too small.
TEST(OptimiserOfACheckpoint, TheLossScaleFollowsThePrecision) {
  PlainDevice device;
  NamedTensors weights;
  for (const auto& spec : kSpecs) weights.emplace(spec.name, at::ones(spec.shape));
  Parameters parameters(lay_out(kSpecs, "", {}), weights, c10::kCPU, at::kFloat, true);
  Optimiser scaled(parameters, {.rule = {.scaled_loss = true}}, device);
  Optimiser plain(parameters, {}, device);
  EXPECT_EQ(loss_scale(scaled), kFirstLossScale);
  EXPECT_EQ(loss_scale(plain), 1.0F);

  plain.load(scaled.tensors());
  EXPECT_EQ(loss_scale(plain), 1.0F);
  NamedTensors found = scaled.tensors();
  found.at("loss_scale") = at::full({1}, 1024.0F);
  scaled.load(found);
  EXPECT_EQ(loss_scale(scaled), 1024.0F) << "where it was left";
  scaled.load(plain.tensors());
  EXPECT_EQ(loss_scale(scaled), kFirstLossScale);
}

}  // namespace
}  // namespace myxtts::test::optimiser_test
