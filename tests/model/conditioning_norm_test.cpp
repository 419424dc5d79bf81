// SPDX-License-Identifier: Apache-2.0
#include "model/conditioning.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "support/formula_weights.h"
#include "support/golden.h"

namespace myxtts::test::conditioning_norm_test {
namespace {

struct NormCase {
  at::Tensor x;  // [2, 7, 48], far from zero mean and unit deviation
  at::Tensor weight;
  at::Tensor bias;
  at::Tensor gradient;
};

NormCase make_case() {
  return {.x = (formula_values("x", {2, 7, 48}) * 3.0 + 1.5).requires_grad_(true),
          .weight = (formula_values("weight", {48}) + 1.5).requires_grad_(true),
          .bias = formula_values("bias", {48}).requires_grad_(true),
          .gradient = formula_values("gradient", {2, 7, 48})};
}

// LibTorch's own norm, which has channels second.
at::Tensor reference(const NormCase& of) {
  return at::group_norm(of.x.transpose(1, 2), 16, of.weight, of.bias, 1e-5).transpose(1, 2);
}

TEST(ConditioningNorm, TheGroupsOfAWidthFollowThePeersRule) {
  EXPECT_EQ(conditioning_groups(16), 8);
  EXPECT_EQ(conditioning_groups(24), 8);
  EXPECT_EQ(conditioning_groups(48), 16);
  EXPECT_EQ(conditioning_groups(64), 16);
  EXPECT_EQ(conditioning_groups(96), 32);
  EXPECT_EQ(conditioning_groups(100), 4);
  EXPECT_EQ(conditioning_groups(1024), 32);
}

TEST(ConditioningNorm, EqualsLibTorchsGroupNorm) {
  const auto of = make_case();
  EXPECT_LE(relative_error(conditioning_norm(of.x, of.weight, of.bias), reference(of)), 1e-6);
}

TEST(ConditioningNorm, ItsGradientsEqualThoseOfLibTorchsGroupNorm) {
  const auto of = make_case();
  const auto same = make_case();
  conditioning_norm(of.x, of.weight, of.bias).backward(of.gradient);
  reference(same).backward(of.gradient);
  EXPECT_LE(relative_error(of.x.grad(), same.x.grad()), 2e-6);
  EXPECT_LE(relative_error(of.weight.grad(), same.weight.grad()), 2e-6);
  EXPECT_LE(relative_error(of.bias.grad(), same.bias.grad()), 2e-6);
}

TEST(ConditioningNorm, InHalfPrecisionOnlyInputAndOutputAreRounded) {
  const auto of = make_case();
  const auto half = of.x.detach().to(at::kBFloat16);
  const auto weight = of.weight.detach().to(at::kBFloat16);
  const auto bias = of.bias.detach().to(at::kBFloat16);
  const auto found = conditioning_norm(half, weight, bias);
  const NormCase rounded = {.x = half.to(at::kFloat),
                            .weight = weight.to(at::kFloat),
                            .bias = bias.to(at::kFloat),
                            .gradient = {}};
  EXPECT_EQ(found.scalar_type(), at::kBFloat16);
  EXPECT_EQ(max_abs_difference(found, reference(rounded).to(at::kBFloat16)), 0.0);
}

}  // namespace
}  // namespace myxtts::test::conditioning_norm_test
