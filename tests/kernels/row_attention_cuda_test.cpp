// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "device/cuda_plugin.h"
#include "device/role_device.h"
#include "kernels/attention/attention.h"

// Attention of our own beside the plain expression in fp32: values, gradients and dropout.

namespace myxtts::row_attention_cuda_test {
namespace {

using Tensors = std::vector<at::Tensor>;
using Lengths = std::vector<std::int64_t>;

const c10::Device kGpu(c10::kCUDA, 0);
const Lengths kManyLengths = {1, 15, 16, 17, 0, 63, 64, 65, 129, 372, 605, 1100, 7};
constexpr std::int64_t kWidth = 64;
// So few that blocks of threads are few, and so many that they come in another order.
constexpr std::int64_t kNumbersOfHeads[] = {2, 32};

struct Segments {
  explicit Segments(Lengths of, std::int64_t spare = 0) : lengths(std::move(of)) {
    std::vector<std::int32_t> list = {0};
    for (const auto length : lengths)
      list.push_back(list.back() + static_cast<std::int32_t>(length));
    rows = list.back();
    longest = *std::ranges::max_element(lengths) + spare;
    ends = at::tensor(at::ArrayRef<std::int32_t>(list)).to(kGpu);
  }
  PackedSegments packed() const { return {.ends = ends, .longest = longest}; }

  Lengths lengths;
  std::int64_t rows = 0;
  std::int64_t longest = 0;
  at::Tensor ends;
};

// Each segment on its own; `masks` [H, length, length] multiply its probabilities.
at::Tensor expression(const at::Tensor& qkv, std::int64_t heads, const Segments& segments,
                      const Tensors& masks) {
  Tensors mixed;
  const auto of_segments = qkv.split_with_sizes(segments.lengths);
  for (std::size_t i = 0; i < of_segments.size(); ++i) {
    const std::int64_t length = segments.lengths[i];
    if (length == 0) continue;
    const auto parts = of_segments[i].view({length, 3, heads, kWidth}).transpose(0, 2).unbind(1);
    const auto scores = at::matmul(parts[0], parts[1].transpose(1, 2)) / std::sqrt(kWidth);
    const auto later = at::ones_like(scores).triu(1).to(at::kBool);
    auto weights = scores.masked_fill(later, -INFINITY).softmax(-1);
    if (!masks.empty()) weights = weights * masks[i];
    mixed.push_back(at::matmul(weights, parts[2]).transpose(0, 1).flatten(1));
  }
  return at::cat(mixed);
}

struct Outcome {
  at::Tensor mixed;   // [N, D]
  at::Tensor d_qkv;   // [N, 3 · D]
  at::Tensor d_bias;  // [3 · D]
};

at::Tensor slopes_for(const at::Tensor& mixed) {
  const auto places = at::arange(mixed.numel(), mixed.options().dtype(at::kFloat));
  return (places * 0.37).sin().view(mixed.sizes()).to(at::kHalf).to(mixed.scalar_type());
}

Outcome ours(const at::Tensor& qkv, std::int64_t heads, const Segments& segments, double dropout) {
  auto rows = qkv.clone().requires_grad_(true);
  auto bias = at::zeros({qkv.size(1)}, qkv.options()).requires_grad_(true);
  const auto mixed =
      flash_attention({.rows = rows, .deferred_bias = bias}, heads, segments.packed(), dropout);
  torch::autograd::backward({mixed}, {slopes_for(mixed)});
  return {.mixed = mixed.detach(), .d_qkv = rows.grad(), .d_bias = bias.grad()};
}

Outcome wanted_of(const at::Tensor& qkv, std::int64_t heads, const Segments& segments,
                  const Tensors& masks = {}) {
  auto rows = qkv.to(at::kFloat).requires_grad_(true);
  const auto mixed = expression(rows, heads, segments, masks);
  torch::autograd::backward({mixed}, {slopes_for(mixed).to(qkv.scalar_type()).to(at::kFloat)});
  return {
      .mixed = mixed.detach(), .d_qkv = rows.grad(), .d_bias = rows.grad().sum(at::IntArrayRef{0})};
}

// Near in the norm, and where not, a place to begin to look at.
void expect_near(const at::Tensor& found, const at::Tensor& wanted, double tolerance,
                 const std::string& what) {
  const auto difference = (found.to(at::kDouble) - wanted.to(at::kDouble)).abs();
  const double distance =
      (difference.norm() / wanted.to(at::kDouble).norm().clamp_min(1e-30)).item<double>();
  if (distance <= tolerance) return;
  const auto wrong = at::nan_to_num(difference, 1e30)
                         .gt(tolerance * 8 * wanted.to(at::kDouble).abs().max().item<double>());
  const auto places = wrong.nonzero();
  ADD_FAILURE() << what << ": distance " << distance << ", " << places.size(0) << " of "
                << found.numel() << " far off";
  for (std::int64_t i = 0; i < std::min<std::int64_t>(places.size(0), 3); ++i) {
    auto value = found;
    auto other = wanted;
    std::vector<std::int64_t> at;
    for (std::int64_t d = 0; d < places.size(1); ++d) {
      at.push_back(places[i][d].item<std::int64_t>());
      value = value[at.back()];
      other = other[at.back()];
    }
    ADD_FAILURE() << fmt::format("  at {}: {} for {}", at, value.item<double>(),
                                 other.item<double>());
  }
}

// Segment by segment, so that a failure says of what length.
void expect_near(const Outcome& found, const Outcome& wanted, std::int64_t heads,
                 const Segments& segments, double tolerance) {
  std::int64_t start = 0;
  for (const auto length : segments.lengths) {
    if (length > 0) {
      const auto part = [&](const at::Tensor& rows, std::int64_t parts, std::int64_t index) {
        return rows.narrow(0, start, length).view({length, parts, heads, kWidth}).select(1, index);
      };
      const auto name = [&](const char* what) {
        return fmt::format("{} of {} rows", what, length);
      };
      expect_near(part(found.mixed, 1, 0), part(wanted.mixed, 1, 0), tolerance, name("mixed"));
      expect_near(part(found.d_qkv, 3, 2), part(wanted.d_qkv, 3, 2), tolerance, name("dv"));
      if (length > 1) {  // the probability of one key is 1
        expect_near(part(found.d_qkv, 3, 0), part(wanted.d_qkv, 3, 0), tolerance, name("dq"));
        expect_near(part(found.d_qkv, 3, 1), part(wanted.d_qkv, 3, 1), tolerance, name("dk"));
      }
    }
    start += length;
  }
  expect_near(found.d_bias.view({3, heads, kWidth}), wanted.d_bias.view({3, heads, kWidth}),
              tolerance, "bias");
}

class RowAttentionCuda : public ::testing::TestWithParam<at::ScalarType> {
 protected:
  void SetUp() override {
    if (!cuda_fault(cuda_plugin()).empty()) GTEST_SKIP() << "no CUDA device here";
    at::globalContext().setAllowTF32CuBLAS(false);
    at::manual_seed(3);
    if (!fits_row_attention(random(8, 1), 1)) GTEST_SKIP() << "no CUDA device here of sm_80";
  }

  double tolerance() const { return GetParam() == at::kHalf ? 2e-3 : 1e-2; }

  at::Tensor random(std::int64_t rows, std::int64_t heads, double scale = 1) const {
    return (at::randn({rows, 3 * heads * kWidth}, at::TensorOptions(kGpu)) * scale).to(GetParam());
  }
};

TEST_P(RowAttentionCuda, IsThePlainExpressionOnRowsOfManyLengths) {
  const Segments segments(kManyLengths, 33);
  for (const auto heads : kNumbersOfHeads) {
    SCOPED_TRACE(heads);
    const auto qkv = random(segments.rows, heads);
    expect_near(ours(qkv, heads, segments, 0.0), wanted_of(qkv, heads, segments), heads, segments,
                tolerance());
  }
}

// The largest score of a row so far rises by more than the kernel lets stand, often and late.
TEST_P(RowAttentionCuda, ScoresThatGrowAlongTheRowsAreNormalisedAnew) {
  const Segments segments({300, 64, 517});
  auto qkv = random(segments.rows, 2);
  const auto growth = at::linspace(0.5, 6, segments.rows, at::TensorOptions(kGpu));
  qkv = (qkv.to(at::kFloat) * growth.unsqueeze(1)).to(GetParam());
  expect_near(ours(qkv, 2, segments, 0.0), wanted_of(qkv, 2, segments), 2, segments,
              2 * tolerance());
}

// What dropout multiplies the probabilities by, read off the values: with equal scores and values
// that are 1 in a column of their own, 64 keys at a time.
Tensors masks_of(const Segments& segments, std::int64_t heads, double dropout, at::ScalarType dtype,
                 std::uint64_t seed) {
  Tensors places;
  Tensors masks;
  for (const auto length : segments.lengths) {
    places.push_back(at::arange(length, at::TensorOptions(kGpu).dtype(at::kLong)));
    masks.push_back(at::zeros({heads, length, length}, at::TensorOptions(kGpu)));
  }
  const auto place = at::cat(places);
  const auto columns = at::arange(kWidth, place.options());
  for (std::int64_t window = 0; window < segments.longest; window += kWidth) {
    auto qkv = at::zeros({segments.rows, 3, heads, kWidth}, at::TensorOptions(kGpu).dtype(dtype));
    qkv.select(1, 2).copy_((place - window).unsqueeze(1).eq(columns).unsqueeze(1));
    at::manual_seed(seed);
    const auto mixed = flash_attention({.rows = qkv.flatten(1), .deferred_bias = {}}, heads,
                                       segments.packed(), dropout)
                           .view({segments.rows, heads, kWidth})
                           .split_with_sizes(segments.lengths);
    for (std::size_t i = 0; i < masks.size(); ++i) {
      const std::int64_t width = std::min(kWidth, segments.lengths[i] - window);
      if (width <= 0) continue;
      masks[i].narrow(2, window, width).copy_(mixed[i].transpose(0, 1).narrow(2, 0, width).ne(0));
    }
  }
  // Twelve bits have the probability.
  for (auto& mask : masks) mask.div_(1 - std::round(dropout * 4096) / 4096);
  return masks;
}

double share(const at::Tensor& both) {
  return both.to(at::kFloat).mean().item<double>();
}

TEST_P(RowAttentionCuda, DropoutKeepsItsShareAndNeighboursAreIndependent) {
  const Segments segments({700, 700});
  const auto masks = masks_of(segments, 2, 0.1, GetParam(), 7);
  // Queries that see all keys taken: 512 to 699 by 0 to 511.
  const auto kept = at::stack({masks[0], masks[1]}).slice(2, 512).slice(3, 0, 512).ne(0);
  EXPECT_NEAR(share(kept), 0.9, 0.002);
  const auto together = [&](std::int64_t dimension, std::int64_t distance) {
    const std::int64_t last = kept.size(dimension) - distance;
    return share(kept.narrow(dimension, 0, last) & kept.narrow(dimension, distance, last));
  };
  for (const std::int64_t distance : {1, 2, 8, 16, 32, 64}) {
    EXPECT_NEAR(together(3, distance), 0.81, 0.005) << "keys " << distance;
    EXPECT_NEAR(together(2, distance), 0.81, 0.005) << "queries " << distance;
  }
  EXPECT_NEAR(together(1, 1), 0.81, 0.005) << "heads";
  EXPECT_NEAR(together(0, 1), 0.81, 0.005) << "segments";
  EXPECT_NEAR(
      share(masks_of(segments, 2, 0.5, GetParam(), 8)[0].slice(1, 512).slice(2, 0, 512).ne(0)), 0.5,
      0.005);
}

TEST_P(RowAttentionCuda, BothPassesHaveTheMaskThatWasDrawn) {
  const Segments segments(kManyLengths);
  for (const auto heads : kNumbersOfHeads) {
    SCOPED_TRACE(heads);
    const auto qkv = random(segments.rows, heads);
    const auto masks = masks_of(segments, heads, 0.2, GetParam(), 11);
    at::manual_seed(11);
    expect_near(ours(qkv, heads, segments, 0.2), wanted_of(qkv, heads, segments, masks), heads,
                segments, tolerance());
  }
}

TEST_P(RowAttentionCuda, EqualSeedsGiveEqualBitsAlsoWhereLongerRowsMayCome) {
  const auto run = [&](std::uint64_t seed, std::int64_t spare) {
    const Segments segments({605, 63, 372}, spare);
    at::manual_seed(2);
    const auto qkv = random(segments.rows, 16);
    at::manual_seed(seed);
    return ours(qkv, 16, segments, 0.1);
  };
  const auto first = run(5, 0);
  for (const std::int64_t spare : {0, 0, 200}) {
    const auto second = run(5, spare);
    EXPECT_TRUE(first.mixed.equal(second.mixed)) << spare;
    EXPECT_TRUE(first.d_qkv.equal(second.d_qkv)) << spare;
    EXPECT_TRUE(first.d_bias.equal(second.d_bias)) << spare;
  }
  EXPECT_FALSE(first.mixed.equal(run(6, 0).mixed));
}

TEST_P(RowAttentionCuda, ANanStaysInItsSegment) {
  const Segments segments({40, 50, 60});
  auto qkv = random(segments.rows, 2);
  qkv[45].fill_(std::numeric_limits<double>::quiet_NaN());
  const auto found = ours(qkv, 2, segments, 0.0);
  EXPECT_TRUE(found.mixed.narrow(0, 45, 45).isnan().any(1).all().item<bool>());
  for (const auto& rows : {found.mixed, found.d_qkv}) {
    EXPECT_TRUE(rows.narrow(0, 0, 40).isfinite().all().item<bool>());
    EXPECT_TRUE(rows.narrow(0, 90, 60).isfinite().all().item<bool>());
  }
}

TEST_P(RowAttentionCuda, AGraphDrawsNewMasksAndReadsTheSegmentsAtEachReplay) {
  RolePlan plan;
  plan.gpu = PlannedGpu{};
  const auto device = open_role_device(Role::Model, plan);
  const auto scope = device->enter(device->stream());
  const Segments first({372, 100, 28}, 100);
  const Segments second({28, 450, 22});
  const auto qkv = random(first.rows, 2);
  const Segments in_place({372, 100, 28}, 100);
  ours(qkv, 2, in_place, 0.1);
  const auto recorder = device->make_graph_recorder();
  Outcome found;
  const auto graph = recorder->record([&] { found = ours(qkv, 2, in_place, 0.1); });
  const auto replay = [&](std::uint64_t seed, const Segments& segments) {
    in_place.ends.copy_(segments.ends);
    if (seed > 0) at::manual_seed(seed);
    graph->replay();
    return Outcome{found.mixed.clone(), found.d_qkv.clone(), found.d_bias.clone()};
  };
  const auto one = replay(9, first);
  EXPECT_FALSE(one.mixed.equal(replay(0, first).mixed));
  EXPECT_TRUE(one.d_qkv.equal(replay(9, first).d_qkv));
  const auto other = replay(9, second);
  at::manual_seed(9);
  const auto eager = ours(qkv, 2, second, 0.1);
  EXPECT_TRUE(other.mixed.equal(eager.mixed));
  EXPECT_TRUE(other.d_qkv.equal(eager.d_qkv));
  EXPECT_TRUE(other.d_bias.equal(eager.d_bias));
}

INSTANTIATE_TEST_SUITE_P(Numbers, RowAttentionCuda, ::testing::Values(at::kBFloat16, at::kHalf),
                         [](const auto& number) {
                           return std::string(c10::toString(number.param));
                         });

}  // namespace
}  // namespace myxtts::row_attention_cuda_test
