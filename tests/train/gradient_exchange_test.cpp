// SPDX-License-Identifier: Apache-2.0
#include "train/gpt/gradient_exchange.h"

#include <functional>
#include <map>
#include <memory>

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/custom_function.h>

#include "../parallel/rank_threads.h"
#include "kernels/ops/op_tensors.h"
#include "model/gpt_block.h"

namespace myxtts::test::gradient_exchange_test {
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
    const auto device = open_role_device(Role::Model, RolePlan{});
    const auto tensors = make_rank_tensors(team, *device);
    GradientExchange exchange(team, *tensors, network.parameters, wire);
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
    const auto device = open_role_device(Role::Model, RolePlan{});
    const auto tensors = make_rank_tensors(team, *device);
    GradientExchange exchange(team, *tensors, network.parameters);
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

// A rank without a clip in the first step has seen nothing of the order, nor how often its
// gradients come.
TEST(GradientExchange, ARankThatBeginsWithoutAClipSumsAsTheOthersDo) {
  const auto failures = with_ranks(2, [&](RankTeam& team) {
    Network network;
    const auto device = open_role_device(Role::Model, RolePlan{});
    const auto tensors = make_rank_tensors(team, *device);
    GradientExchange exchange(team, *tensors, network.parameters);
    const int rank = team.world().rank;
    for (int step = 0; step < 3; ++step) {
      network.parameters.gradients().zero_();
      exchange.open();
      const bool has_clips = rank == 0 || step > 0;
      if (has_clips) network.loss(input_of(rank, step)).backward();
      exchange.finish({}, at::zeros({1}));
      const auto wanted = gradients_alone(step == 0 ? 1 : 2, step);
      EXPECT_LT(largest(network.parameters.gradients() - wanted), largest(wanted) * 1e-5) << step;
    }
  });
  for (const auto& failure : failures) EXPECT_EQ(failure, "");
}

// Sums with nobody, and remembers what went when.
class Remembered final : public RankTensors {
 public:
  void begin_all_reduce(const at::Tensor& numbers, const at::Tensor& on_wire) override {
    EXPECT_TRUE(on_wire.is_same(numbers));
    sent.push_back({numbers.storage_offset(), numbers, numbers.clone()});
  }
  void finish_all_reduces() override { before_the_end.push_back(sent.size()); }
  void all_gather(const std::vector<at::Tensor>&) override {}

  struct Sent {
    std::int64_t place = 0;
    at::Tensor numbers;
    at::Tensor then;
  };
  std::vector<Sent> sent;
  std::vector<std::size_t> before_the_end;
};

constexpr std::int64_t kSide = 64;  // so that each weight is a bucket
const TensorSpecs kSquares{{.name = "a.weight", .shape = {kSide, kSide}},
                           {.name = "b.weight", .shape = {kSide, kSide}},
                           {.name = "c.weight", .shape = {kSide, kSide}}};

// Passes over three squares, each in a bucket of its own, as one rank.
class Passes {
 public:
  using Loss = std::function<at::Tensor(const NamedTensors&, const at::Tensor& input)>;

  explicit Passes(Loss loss) : loss_(std::move(loss)) {}

  void expect_whole_buckets(bool begins_without_clips = false) {
    const auto failures = with_ranks(1, [&](RankTeam& team) {
      GradientExchange exchange(team, remembered_, parameters_, Wire::Fp32, kSide);
      if (begins_without_clips) {
        exchange.open();
        exchange.finish({}, at::zeros({1}));
      }
      for (int step = 0; step < 3; ++step) expect_whole_buckets_in(exchange, step);
    });
    EXPECT_EQ(failures.front(), "");
  }

  // Of each pass the places of its buckets, in the order in which they went.
  std::vector<std::vector<std::int64_t>> order;
  std::size_t on_the_way = 0;  // buckets that went before their pass had ended, in the last one

 private:
  void expect_whole_buckets_in(GradientExchange& exchange, int step) {
    remembered_ = {};
    parameters_.gradients().zero_();
    exchange.open();
    {
      const ZeroGradientPromise promise;
      loss_(parameters_.tensors(), at::sin(at::arange(kSide, at::kFloat) + step)).backward();
    }
    on_the_way = remembered_.sent.size();
    exchange.finish({}, at::zeros({1}));
    ASSERT_EQ(remembered_.sent.size(), kSquares.size() + 1);  // and the losses
    remembered_.sent.pop_back();
    order.emplace_back();
    for (const auto& sent : remembered_.sent) {
      EXPECT_TRUE(sent.then.equal(sent.numbers)) << "step " << step << ", place " << sent.place;
      EXPECT_GT(largest(sent.then), 0.0);
      order.back().push_back(sent.place);
    }
  }

  static NamedTensors weights() {
    NamedTensors made;
    for (const auto& spec : kSquares) {
      made.emplace(spec.name, at::cos(at::arange(kSide * kSide, at::kFloat)).view(spec.shape));
    }
    return made;
  }

  const Loss loss_;
  Parameters parameters_{lay_out(kSquares, "", {}), weights(), c10::kCPU, at::kFloat, true};
  Remembered remembered_;
};

TEST(GradientExchange, ABucketGoesOnceAndWhenItsGradientsAreWhole) {
  Passes passes([](const NamedTensors& t, const at::Tensor& input) {
    const auto hidden = at::tanh(at::mv(t.at("a.weight"), input));
    return (at::mv(t.at("b.weight"), hidden) * at::mv(t.at("c.weight"), hidden)).sum();
  });
  passes.expect_whole_buckets();
  EXPECT_EQ(passes.on_the_way, kSquares.size());
}

// As a table that is read at the entrance and at the exit of a network.
TEST(GradientExchange, AParameterThatIsUsedTwiceCountsOnce) {
  Passes passes([](const NamedTensors& t, const at::Tensor& input) {
    const auto first = at::tanh(at::mv(t.at("a.weight"), input));
    const auto second = at::tanh(at::mv(t.at("b.weight"), first));
    return at::mv(t.at("a.weight"), at::mv(t.at("c.weight"), second)).square().sum();
  });
  passes.expect_whole_buckets();
  EXPECT_EQ(passes.on_the_way, kSquares.size());
}

// Layers that are recomputed run passes of their own: the weight is visited twice.
at::Tensor through_recomputed_layers(const NamedTensors& t, const at::Tensor& input) {
  const auto layer = [&t](const TensorPair& in) {
    return TensorPair(at::tanh(at::mv(t.at("a.weight"), in.first)), in.first);
  };
  const RememberRandom nothing = [] { return [] {}; };
  const auto first = recomputed(layer, {at::mv(t.at("b.weight"), input), {}}, nothing).first;
  const auto second = recomputed(layer, {first, {}}, nothing).first;
  return at::mv(t.at("c.weight"), second).square().sum();
}

TEST(GradientExchange, AParameterOfTwoRecomputedLayersIsWholeWithTheSecond) {
  Passes passes(through_recomputed_layers);
  passes.expect_whole_buckets();
  EXPECT_EQ(passes.on_the_way, kSquares.size());
}

TEST(GradientExchange, HowOftenGradientsComeIsLearntWithTheFirstClips) {
  Passes passes(through_recomputed_layers);
  passes.expect_whole_buckets(/*begins_without_clips=*/true);
  EXPECT_EQ(passes.on_the_way, kSquares.size());
}

// weight · x, whose gradient is written where it belongs, as operations of ours do on a GPU.
class WritesItself : public torch::autograd::Function<WritesItself> {
 public:
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& weight,
                            const at::Tensor& x) {
    context->save_for_backward({weight, x});
    context->saved_data["promised"] = ZeroGradientPromise::given();
    return at::mv(weight, x);
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 const torch::autograd::variable_list& d) {
    const auto saved = context->get_saved_variables();
    const GradientTarget target(saved[0], context->saved_data["promised"].toBool());
    target.buffer().copy_(at::outer(d[0], saved[1]));
    written += target.for_autograd().defined() ? 0 : 1;
    return {target.for_autograd(), at::mv(saved[0].t(), d[0])};
  }

  static inline int written = 0;
};

TEST(GradientExchange, AGradientThatAnOperationWroteItselfCountsOnceAndWhenItIsThere) {
  Passes passes([](const NamedTensors& t, const at::Tensor& input) {
    const auto first = at::tanh(WritesItself::apply(t.at("a.weight"), input));
    const auto second = at::tanh(WritesItself::apply(t.at("b.weight"), first));
    return at::mv(t.at("c.weight"), second).square().sum();
  });
  WritesItself::written = 0;
  passes.expect_whole_buckets();
  EXPECT_EQ(WritesItself::written, 6) << "two weights in three passes";
  EXPECT_EQ(passes.on_the_way, kSquares.size());
}

// Every rank and every graph must have one order, whatever each pass finds first.
TEST(GradientExchange, BucketsGoInTheOrderOfTheFirstPass) {
  int pass = 0;
  Passes passes([&pass](const NamedTensors& t, const at::Tensor& input) {
    const bool turned = pass++ > 0;
    const auto& near = t.at(turned ? "a.weight" : "c.weight");
    const auto& far = t.at(turned ? "c.weight" : "a.weight");
    const auto hidden = at::tanh(at::mv(t.at("b.weight"), at::tanh(at::mv(far, input))));
    return at::mv(near, hidden).square().sum();
  });
  passes.expect_whole_buckets();
  ASSERT_EQ(passes.order.size(), 3U);
  EXPECT_EQ(passes.order[1], passes.order[0]);
  EXPECT_EQ(passes.order[2], passes.order[0]);
  EXPECT_GT(passes.order[0].front(), passes.order[0].back()) << "from the end of the network";
}

}  // namespace
}  // namespace myxtts::test::gradient_exchange_test
