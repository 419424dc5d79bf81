// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "device/cuda_plugin.h"
#include "kernels/attention/attention.h"
#include "kernels/cuda_kernels.h"
#include "kernels/ops/cross_entropy.h"
#include "kernels/ops/group_norm.h"
#include "kernels/ops/linear.h"
#include "kernels/ops/op_tensors.h"
#include "kernels/ops/packed_embedding.h"
#include "kernels/ops/residual_norm.h"

// The kernels of training beside the plain expressions they stand for: values and gradients.

namespace myxtts::training_ops_cuda_test {
namespace {

using Tensors = std::vector<at::Tensor>;
using Operation = std::function<Tensors(const Tensors&)>;

class TrainingOpsCuda : public ::testing::TestWithParam<at::ScalarType> {
 protected:
  void SetUp() override {
    if (!cuda_fault(cuda_plugin()).empty()) GTEST_SKIP() << "no CUDA device here";
    at::globalContext().setAllowTF32CuBLAS(false);
    at::manual_seed(3);
  }

  // Half precision is judged against fp32 on the same numbers: by its own rounding.
  double tolerance() const {
    return GetParam() == at::kFloat ? 2e-5 : GetParam() == at::kHalf ? 3e-3 : 2e-2;
  }

  at::Tensor random(at::IntArrayRef sizes, double scale = 1, double offset = 0) const {
    const at::TensorOptions options = at::TensorOptions(c10::Device(c10::kCUDA, 0));
    return (at::randn(sizes, options) * scale + offset).to(GetParam());
  }
};

struct Outcome {
  Tensors values;
  Tensors gradients;
};

// Runs an operation on copies of the inputs and differentiates a fixed mixture of what comes out.
Outcome run(const Operation& operation, const Tensors& inputs, at::ScalarType dtype) {
  Tensors leaves;
  for (const auto& input : inputs) {
    leaves.push_back(
        input.is_floating_point() ? input.detach().to(dtype).clone().requires_grad_(true) : input);
  }
  Outcome outcome;
  Tensors slopes;
  for (const auto& value : operation(leaves)) {
    outcome.values.push_back(value);
    const auto places = at::arange(value.numel(), value.options().dtype(at::kFloat));
    slopes.push_back((places * 0.37)
                         .sin()
                         .view(value.sizes())
                         .to(inputs[0].scalar_type())
                         .to(value.scalar_type()));
  }
  torch::autograd::backward(outcome.values, slopes);
  for (const auto& leaf : leaves) {
    if (leaf.is_floating_point()) outcome.gradients.push_back(leaf.grad());
  }
  return outcome;
}

double distance(const at::Tensor& found, const at::Tensor& wanted) {
  const auto difference = found.detach().to(at::kDouble) - wanted.detach().to(at::kDouble);
  return (difference.norm() / wanted.detach().to(at::kDouble).norm().clamp_min(1e-30))
      .item<double>();
}

void expect_equal(const Operation& fused, const Operation& expression, const Tensors& inputs,
                  double tolerance) {
  const auto found = run(fused, inputs, inputs[0].scalar_type());
  const auto wanted = run(expression, inputs, at::kFloat);
  for (std::size_t i = 0; i < wanted.values.size(); ++i) {
    EXPECT_LE(distance(found.values[i], wanted.values[i]), tolerance) << "value " << i;
  }
  for (std::size_t i = 0; i < wanted.gradients.size(); ++i) {
    ASSERT_TRUE(found.gradients[i].defined()) << "gradient " << i;
    EXPECT_EQ(found.gradients[i].sizes(), wanted.gradients[i].sizes());
    EXPECT_LE(distance(found.gradients[i], wanted.gradients[i]), tolerance) << "gradient " << i;
  }
}

struct NormShape {
  std::int64_t rows;
  std::int64_t width;
};

const std::vector<NormShape> kNormShapes = {{1, 8}, {3, 264}, {37, 512}, {1116, 1024}, {70, 2048}};

// The branch's deferred bias is in its rows already; what is tested is its gradient.
TEST_P(TrainingOpsCuda, ResidualNormIsASumAndANormAndPaysTheBiasOfItsBranch) {
  for (const auto& [rows, width] : kNormShapes) {
    SCOPED_TRACE(fmt::format("{} x {}", rows, width));
    const Tensors inputs = {random({rows, width}, 2, 1), random({rows, width}),
                            random({width}, 0.3, 1), random({width}), random({width})};
    const auto fused = [](const Tensors& t) -> Tensors {
      const Projection branch = {.rows = t[1] + t[4].detach(), .deferred_bias = t[4]};
      const auto both = residual_norm(t[0], branch, {.weight = t[2], .bias = t[3]}, 0.0);
      return {both.sum, both.normed};
    };
    const auto expression = [](const Tensors& t) -> Tensors {
      const auto both =
          plain::residual_norm(t[0], t[1] + t[4], {.weight = t[2], .bias = t[3]}, 0.0);
      return {both.sum, both.normed};
    };
    expect_equal(fused, expression, inputs, tolerance());
  }
}

TEST_P(TrainingOpsCuda, ASumWhoseNormIsNotUsedStillHasItsGradient) {
  const Tensors inputs = {random({9, 64}), random({9, 64}), random({64}, 0.3, 1), random({64}),
                          random({64})};
  const auto fused = [](const Tensors& t) -> Tensors {
    return {residual_norm(t[0], {.rows = t[1], .deferred_bias = t[4]},
                          {.weight = t[2], .bias = t[3]}, 0.0)
                .sum};
  };
  const auto expression = [](const Tensors& t) -> Tensors {
    return {t[0] + t[1] + (t[4] - t[4].detach()) + 0 * (t[2] + t[3])};
  };
  expect_equal(fused, expression, inputs, tolerance());
}

TEST_P(TrainingOpsCuda, LayerNormIsThePlainOne) {
  for (const auto& [rows, width] : kNormShapes) {
    SCOPED_TRACE(fmt::format("{} x {}", rows, width));
    const Tensors inputs = {random({rows, width}, 2, 1), random({width}, 0.3, 1), random({width})};
    const auto as = [](const auto& norm) {
      return [norm](const Tensors& t) -> Tensors {
        return {norm(t[0], NormWeights{.weight = t[1], .bias = t[2]})};
      };
    };
    expect_equal(as(layer_norm), as(plain::layer_norm), inputs, tolerance());
  }
}

TEST_P(TrainingOpsCuda, SelectedNormSelectsAndItsPaddingGetsNoGradient) {
  const auto rows = at::tensor({5, 2, 9, 7, 0, 0}, at::kLong).to(c10::Device(c10::kCUDA, 0));
  const Tensors inputs = {random({11, 64}, 2, 1), random({64}, 0.3, 1), random({64})};
  const auto fused = [&](const Tensors& t) -> Tensors {
    return {selected_norm(t[0], rows, {.weight = t[1], .bias = t[2]})};
  };
  const auto expression = [&](const Tensors& t) -> Tensors {
    const auto x = at::cat({t[0].narrow(0, 0, 1).detach(), t[0].narrow(0, 1, 10)});
    return {plain::selected_norm(x, rows, {.weight = t[1], .bias = t[2]})};
  };
  expect_equal(fused, expression, inputs, tolerance());
}

// The masks are our own, so they are read off the sum: branch is 1 everywhere.
TEST_P(TrainingOpsCuda, DropoutOfAResidualKeepsTheMeanAndItsGradientHasTheSameMask) {
  const auto x = at::zeros({500, 256}, random({1}).options());
  auto branch = at::ones_like(x).requires_grad_(true);
  auto weight = at::ones({256}, x.options());
  auto bias = at::zeros({256}, x.options());
  const auto deferred = at::zeros({256}, x.options()).requires_grad_(true);
  const Projection rows = {.rows = branch, .deferred_bias = deferred};
  const auto first = residual_norm(x, rows, {.weight = weight, .bias = bias}, 0.1);
  const auto second = residual_norm(x, rows, {.weight = weight, .bias = bias}, 0.1);
  const auto kept = first.sum.ne(0);
  EXPECT_NEAR(kept.to(at::kFloat).mean().item<double>(), 0.9, 0.004);
  EXPECT_NEAR(first.sum.to(at::kDouble).mean().item<double>(), 1.0, 0.006);
  // Neighbours are dropped independently of one another.
  const auto both = kept.slice(1, 1).logical_and(kept.slice(1, 0, -1)).to(at::kFloat);
  EXPECT_NEAR(both.mean().item<double>(), 0.81, 0.01);
  EXPECT_FALSE(first.sum.equal(second.sum));
  torch::autograd::backward({first.sum, first.normed}, {at::ones_like(x), at::zeros_like(x)});
  EXPECT_TRUE(branch.grad().equal(first.sum.detach()));
  EXPECT_LE(distance(deferred.grad(), first.sum.detach().to(at::kFloat).sum(0)), tolerance());
}

TEST_P(TrainingOpsCuda, EqualSeedsDropEqually) {
  const auto x = at::zeros({30, 256}, random({1}).options());
  const auto ones = at::ones({256}, x.options());
  const auto draw = [&] {
    at::manual_seed(7);
    const Projection branch = {.rows = at::ones_like(x), .deferred_bias = {}};
    return residual_norm(x, branch, {.weight = ones, .bias = ones}, 0.5).sum;
  };
  EXPECT_TRUE(draw().equal(draw()));
}

TEST_P(TrainingOpsCuda, GroupNormIsThePlainOne) {
  struct Shape {
    std::int64_t clips;
    std::int64_t frames;
    std::int64_t width;
    std::int64_t groups;
  };
  const std::vector<Shape> shapes = {{1, 1, 64, 8}, {2, 33, 256, 32}, {3, 517, 1024, 32}};
  for (const auto& [clips, frames, width, groups] : shapes) {
    SCOPED_TRACE(fmt::format("{} x {} x {}", clips, frames, width));
    const Tensors inputs = {random({clips, frames, width}, 2, 5), random({width}, 0.3, 1),
                            random({width})};
    const auto as = [groups = groups](const auto& norm) {
      return [norm, groups](const Tensors& t) -> Tensors {
        return {norm(t[0], NormWeights{.weight = t[1], .bias = t[2]}, groups)};
      };
    };
    expect_equal(as(group_norm), as(plain::group_norm), inputs, tolerance());
  }
}

TEST_P(TrainingOpsCuda, LinearIsThePlainOneInBothLayouts) {
  struct Shape {
    std::int64_t rows;
    std::int64_t in;
    std::int64_t out;
  };
  const std::vector<Shape> shapes = {{1, 8, 8}, {5, 80, 64}, {33, 64, 131}, {1116, 1024, 3072}};
  for (const auto& [rows, in, out] : shapes) {
    for (const auto layout : {WeightLayout::OutIn, WeightLayout::InOut}) {
      SCOPED_TRACE(fmt::format("{} x {} -> {} {}", rows, in, out, static_cast<int>(layout)));
      const bool in_out = layout == WeightLayout::InOut;
      const Tensors inputs = {random({rows, in}),
                              in_out ? random({in, out}, 0.1) : random({out, in, 1}, 0.1),
                              random({out})};
      const auto as = [layout](const auto& product) {
        return [product, layout](const Tensors& t) -> Tensors {
          return {product(t[0], LinearWeights{.weight = t[1], .bias = t[2], .layout = layout})};
        };
      };
      expect_equal(as(linear), as(plain::linear), inputs, tolerance());
    }
  }
}

TEST_P(TrainingOpsCuda, LinearNeedsNoBias) {
  const Tensors inputs = {random({2, 7, 64}), random({40, 64}, 0.1)};
  const auto as = [](const auto& product) {
    return [product](const Tensors& t) -> Tensors {
      return {product(t[0], LinearWeights{.weight = t[1], .bias = {}})};
    };
  };
  expect_equal(as(linear), as(plain::linear), inputs, tolerance());
}

TEST_P(TrainingOpsCuda, TheMlpIsThePlainOne) {
  // From 4,096 rows on gelu's derivative is taken inside the product.
  for (const std::int64_t rows : {1, 77, 1116, 4099}) {
    const std::int64_t width = rows == 77 || rows == 4099 ? 64 : 1024;
    SCOPED_TRACE(rows);
    const Tensors inputs = {random({rows, width}), random({width, 4 * width}, 0.05),
                            random({4 * width}), random({4 * width, width}, 0.05), random({width})};
    const auto in = [](const Tensors& t) {
      return LinearWeights{.weight = t[1], .bias = t[2], .layout = WeightLayout::InOut};
    };
    const auto out = [](const Tensors& t) {
      return LinearWeights{.weight = t[3], .bias = t[4], .layout = WeightLayout::InOut};
    };
    expect_equal(
        [&](const Tensors& t) -> Tensors {
          return {gelu_mlp(t[0], in(t), out(t)).with_bias_gradient()};
        },
        [&](const Tensors& t) -> Tensors { return {plain::gelu_mlp(t[0], in(t), out(t))}; }, inputs,
        tolerance());
  }
}

TEST_P(TrainingOpsCuda, AProjectionOwesItsBiasOnceAndOnlyWhereItIsTrained) {
  const auto x = random({12, 64});
  const auto weight = random({64, 64}, 0.1).requires_grad_(true);
  const auto bias = random({64}).requires_grad_(true);
  const LinearWeights weights = {.weight = weight, .bias = bias, .layout = WeightLayout::InOut};
  const auto rows = project(x, weights);
  EXPECT_LE(distance(rows.rows, plain::linear(x, weights)), tolerance());
  rows.with_bias_gradient().to(at::kFloat).sum().backward();
  EXPECT_LE(distance(bias.grad(), at::full_like(bias, 12.0)), tolerance());
  EXPECT_FALSE(project(x, {weight, bias.detach(), WeightLayout::InOut}).deferred_bias.defined());
}

// 12 outputs are not a multiple of eight: there the sum is an expression of its own.
TEST_P(TrainingOpsCuda, AProductAddsAResidualOnTheWayAndGivesItTheWholeGradient) {
  for (const std::int64_t out : {12, 96}) {
    SCOPED_TRACE(out);
    const Tensors inputs = {random({77, 64}), random({out, 64}, 0.1), random({out}),
                            random({77, out})};
    expect_equal(
        [](const Tensors& t) -> Tensors {
          return {linear_onto(t[3], t[0], {.weight = t[1], .bias = t[2]})};
        },
        [](const Tensors& t) -> Tensors { return {t[3] + at::linear(t[0], t[1], t[2])}; }, inputs,
        tolerance());
  }
}

TEST_P(TrainingOpsCuda, WhatComesPastAProjectionAddsItsGradientToTheProjections) {
  const Tensors inputs = {random({77, 64}), random({96, 64}, 0.1), random({96})};
  const auto split = [](const Tensors& t) {
    return split_project(t[0], {.weight = t[1], .bias = t[2]});
  };
  expect_equal(
      [&](const Tensors& t) -> Tensors {
        const auto both = split(t);
        return {both.branch.with_bias_gradient(), both.past * 2};
      },
      [](const Tensors& t) -> Tensors {
        return {at::linear(t[0], t[1], t[2]), t[0] * 2};
      },
      inputs, tolerance());
  // Nobody takes the branch, or what comes past it.
  for (const bool takes_past : {true, false}) {
    auto t = inputs;
    for (auto& leaf : t) leaf = leaf.detach().clone().requires_grad_(true);
    const auto both = split(t);
    (takes_past ? both.past : both.branch.rows).to(at::kFloat).sum().backward();
    const auto wanted = takes_past ? at::ones_like(t[0]) : t[1].detach().sum(0).expand_as(t[0]);
    EXPECT_LE(distance(t[0].grad(), wanted), tolerance());
    EXPECT_EQ(t[1].grad().defined(), !takes_past);
  }
}

// Segments of 5, 1 and 130 rows, each on its own; the last rows are padding, a segment too.
at::Tensor attention_of_segments(const at::Tensor& qkv, std::int64_t heads) {
  Tensors mixed;
  for (const auto& rows : qkv.split_with_sizes({5, 1, 130, 12})) {
    const auto parts = rows.view({rows.size(0), 3, heads, -1}).transpose(0, 2).unbind(1);
    const auto scores = at::matmul(parts[0], parts[1].transpose(1, 2)) /
                        std::sqrt(static_cast<double>(parts[0].size(2)));
    const auto later = at::ones_like(scores).triu(1).to(at::kBool);
    mixed.push_back(at::matmul(scores.masked_fill(later, -INFINITY).softmax(-1), parts[2])
                        .transpose(0, 1)
                        .flatten(1));
  }
  return at::cat(mixed);
}

TEST_P(TrainingOpsCuda, FlashAttentionIsThatOfEachSegmentAndPaysTheBiasOfItsProjection) {
  if (GetParam() == at::kFloat) GTEST_SKIP() << "flash is of half precision";
  const auto ends = at::tensor({0, 5, 6, 136, 148}, at::kInt).to(c10::Device(c10::kCUDA, 0));
  const Tensors inputs = {random({148, 3 * 128}), random({3 * 128}, 0.3)};
  const PackedSegments segments = {.ends = ends, .longest = 192};
  for (const std::int64_t heads : {2, 4}) {  // of 64, for kernels of our own, and of 32
    SCOPED_TRACE(heads);
    const auto fused = [&](const Tensors& t) -> Tensors {
      const Projection qkv = {.rows = t[0] + t[1].detach(), .deferred_bias = t[1]};
      return {flash_attention(qkv, heads, segments, 0.0)};
    };
    const auto expression = [&](const Tensors& t) -> Tensors {
      return {attention_of_segments(t[0] + t[1], heads)};
    };
    expect_equal(fused, expression, inputs, tolerance());
  }
}

TEST_P(TrainingOpsCuda, FrameAttentionIsThePlainOneAndPaysTheBiasOfItsProjection) {
  const Tensors inputs = {random({3 * 50, 3 * 128}), random({3 * 128}, 0.3)};
  const auto fused = [&](const Tensors& t) -> Tensors {
    return {frame_attention({.rows = t[0] + t[1].detach(), .deferred_bias = t[1]}, 3, 2)};
  };
  const auto expression = [](const Tensors& t) -> Tensors {
    return {plain::frame_attention(t[0] + t[1], 3, 2)};
  };
  expect_equal(fused, expression, inputs, tolerance());
}

// Heads of 32, which LibTorch's kernels compute.
TEST_P(TrainingOpsCuda, FlashAttentionWithDropoutHasTheGradientOfWhatItDrew) {
  if (GetParam() == at::kFloat) GTEST_SKIP() << "flash is of half precision";
  const auto ends = at::tensor({0, 100, 148}, at::kInt).to(c10::Device(c10::kCUDA, 0));
  const PackedSegments segments = {.ends = ends, .longest = 100};
  const auto qkv = random({148, 3 * 128});
  const auto gradient = [&](const auto& attention) {
    at::manual_seed(5);
    auto leaf = qkv.clone().requires_grad_(true);
    attention(leaf).sum().backward();
    return leaf.grad();
  };
  const auto found = gradient([&](const at::Tensor& rows) {
    return flash_attention({.rows = rows, .deferred_bias = {}}, 4, segments, 0.2);
  });
  const auto wanted = gradient(
      [&](const at::Tensor& rows) { return plain::flash_attention(rows, 4, segments, 0.2); });
  EXPECT_LE(distance(found, wanted), 1e-3);
}

// Also in fp32, where the mlp is the plain expression and does not reach the kernel.
TEST_P(TrainingOpsCuda, BackThroughGeluIsGelusDerivativeAndItsSums) {
  const auto* kernels = cuda_kernels(myxtts::Operation::Gelu);
  ASSERT_NE(kernels, nullptr);
  const std::vector<NormShape> shapes = {{1, 8}, {7, 264}, {77, 256}, {1117, 4096}, {6000, 520}};
  for (const auto& [rows, width] : shapes) {
    SCOPED_TRACE(fmt::format("{} x {}", rows, width));
    const auto before = random({rows, width}, 3);
    before.view({-1})[0] = 300;  // where the slope is flat, on both sides
    before.view({-1})[1] = -300;
    const auto slopes = random({rows, width}, 1, 0.5);
    const auto wanted = at::gelu_backward(slopes.to(at::kFloat), before.to(at::kFloat), "tanh");
    for (const bool with_bias : {true, false}) {
      const auto found = slopes.clone();
      const auto d_bias = at::full({width}, 7, slopes.options());
      kernels->gelu_backward({.number = *common_number({before}),
                              .rows = rows,
                              .width = width,
                              .before = before.data_ptr(),
                              .slopes = found.data_ptr(),
                              .d_bias = with_bias ? d_bias.data_ptr() : nullptr});
      EXPECT_LE(distance(found, wanted), tolerance());
      const auto sums = with_bias ? wanted.sum(at::IntArrayRef{0}) : at::full_like(d_bias, 7);
      EXPECT_LE(distance(d_bias, sums), tolerance());
    }
  }
}

TEST_P(TrainingOpsCuda, TokenLossesAreCrossEntropiesAndIgnoredOnesCostNothing) {
  for (const std::int64_t ids : {8, 1026, 6681}) {
    SCOPED_TRACE(ids);
    const std::int64_t stride = (ids + 7) / 8 * 8;
    auto targets =
        at::randint(0, ids, {37}, at::TensorOptions(c10::Device(c10::kCUDA, 0)).dtype(at::kLong));
    targets[3] = kIgnoredTarget;
    targets[36] = kIgnoredTarget;
    const auto with = [&](const auto& losses) {
      return [&, losses](const Tensors& t) -> Tensors {
        return {losses(t[0].narrow(1, 0, ids), targets)};
      };
    };
    expect_equal(with(token_losses), with(plain::token_losses), {random({37, stride}, 3, 20)},
                 tolerance());
  }
}

TEST_P(TrainingOpsCuda, TheEmbeddingLooksUpEveryTableAndSumsItsGradients) {
  const auto device = at::TensorOptions(c10::Device(c10::kCUDA, 0)).dtype(at::kLong);
  const std::int64_t width = 1032;  // more than one block's columns
  const Tensors inputs = {random({21, width}), random({9, width}), random({6, width}),
                          random({5, width}), random({7, width})};
  // Every latent but one once, and each other row many times or never.
  const auto latents = at::arange(30, 35, device);
  const auto tokens = at::cat({latents, at::randint(0, 20, {700}, device),
                               at::randint(20, 30, {300}, device), at::zeros({40}, device)});
  const auto positions = at::cat({at::zeros({5}, device), at::randint(1, 6, {700}, device),
                                  at::randint(6, 13, {300}, device), at::zeros({40}, device)});
  const auto as = [&](const auto& embedding) {
    return [&, embedding](const Tensors& t) -> Tensors {
      return {embedding(EmbeddingWeights{.text = t[0],
                                         .codes = t[1],
                                         .latents = t[2],
                                         .text_positions = t[3],
                                         .code_positions = t[4]},
                        tokens, positions, 0.0)};
    };
  };
  expect_equal(as(packed_embedding), as(plain::packed_embedding), inputs, tolerance());
}

TEST_P(TrainingOpsCuda, DropoutOfAnEmbeddingHasItsMaskInTheGradient) {
  auto text = at::ones({1, 64}, random({1}).options()).requires_grad_(true);
  const auto zeros = at::zeros({1, 64}, text.options());
  const auto tokens = at::zeros({900}, text.options().dtype(at::kLong));
  const auto out = packed_embedding({.text = text,
                                     .codes = zeros,
                                     .latents = zeros,
                                     .text_positions = zeros,
                                     .code_positions = zeros},
                                    tokens, tokens, 0.25);
  EXPECT_NEAR(out.ne(0).to(at::kFloat).mean().item<double>(), 0.75, 0.01);
  torch::autograd::backward({out}, {at::ones_like(out)});
  EXPECT_LE(distance(text.grad(), out.detach().to(at::kFloat).sum(at::IntArrayRef{0}, true)),
            tolerance());
}

TEST_P(TrainingOpsCuda, PromisedGradientsLandInTheirBuffersAndFrozenOnesNowhere) {
  auto x = random({12, 64}).requires_grad_(true);
  auto weight = random({64, 64}, 0.1).requires_grad_(true);
  const auto frozen = random({64});
  const auto pass = [&] {
    linear(x, {.weight = weight, .bias = frozen, .layout = WeightLayout::InOut})
        .to(at::kFloat)
        .sum()
        .backward();
  };
  pass();
  const auto wanted = weight.grad().clone();
  const auto buffer = at::zeros_like(weight);
  weight.mutable_grad() = buffer;
  {
    const ZeroGradientPromise promise;
    pass();
  }
  EXPECT_TRUE(buffer.equal(wanted));
  pass();  // without the promise gradients add up
  EXPECT_LE(distance(buffer, wanted * 2), tolerance());
  EXPECT_FALSE(frozen.grad().defined());
}

INSTANTIATE_TEST_SUITE_P(Numbers, TrainingOpsCuda,
                         ::testing::Values(at::kFloat, at::kBFloat16, at::kHalf),
                         [](const auto& number) {
                           return std::string(c10::toString(number.param));
                         });

}  // namespace
}  // namespace myxtts::training_ops_cuda_test
