// SPDX-License-Identifier: Apache-2.0
#include "train/gpt/gpt_training.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "../model/gpt_golden.h"
#include "base/error.h"
#include "model/gpt_specs.h"
#include "model/tensor_spec.h"
#include "support/golden.h"
#include "support/training_batches.h"

namespace myxtts::test::gpt_training_test {
namespace {

constexpr double kCurve = 1e-4;  // relative; the peer's optimiser adds up in another order

std::unique_ptr<RoleDevice> cpu() {
  return open_role_device(Role::Model, RolePlan{});
}

std::vector<StepNumbers> train(PartTraining& training, const std::vector<DeviceBatch*>& batches,
                               double rate) {
  std::vector<StepNumbers> numbers;
  for (auto* batch : batches) {
    training.accumulate(*batch);
    if (batch->ends_step) training.update(rate);
  }
  return training.finish_numbers();
}

NamedTensors copies(const NamedTensors& tensors) {
  NamedTensors copied;
  for (const auto& [name, tensor] : tensors) copied.emplace(name, tensor.clone());
  return copied;
}

void expect_equal(const NamedTensors& found, const NamedTensors& wanted) {
  ASSERT_EQ(found.size(), wanted.size());
  for (const auto& [name, tensor] : wanted) {
    EXPECT_TRUE(at::equal(found.at(name), tensor)) << name;
  }
}

double largest_difference(const NamedTensors& a, const NamedTensors& b) {
  double largest = 0;
  for (const auto& [name, tensor] : a) {
    largest = std::max(largest, (tensor - b.at(name)).abs().max().item<double>());
  }
  return largest;
}

class GptTrainingOnCpu : public ::testing::Test {
 protected:
  std::unique_ptr<PartTraining> make(const GptTrainingSettings& settings) {
    return make_gpt_training(config_, weights_, *device_, settings);
  }

  DeviceBatch batch(std::uint64_t seed) { return random_batch(config_, *device_, {}, seed); }

  const GptConfig config_ = small_gpt();
  const NamedTensors weights_ = random_gpt_weights(config_);
  const std::unique_ptr<RoleDevice> device_ = cpu();
};

// The peer's own losses and norms over twenty steps: tests/golden/make_gpt.py.
std::pair<at::Tensor, at::Tensor> golden_curve(std::optional<double> clip) {
  const auto device = cpu();
  const auto training = make_gpt_training(golden_gpt_config(), golden_gpt_weights(), *device,
                                          {.step = {.grad_clip = clip}, .dropout = 0.0});
  DeviceBatch batch;
  batch.rows = to_batch(pack_rows(golden_gpt_config(), views(golden_clips())), c10::kCPU);
  batch.prompt_mel = mels(golden_clips());
  std::vector<float> losses;
  std::vector<float> norms;
  for (int step = 0; step < 20; ++step) {
    const auto numbers = train(*training, {&batch}, 1e-3).at(0);
    losses.push_back(static_cast<float>(numbers.losses[0]));
    losses.push_back(static_cast<float>(numbers.losses[1]));
    norms.push_back(static_cast<float>(numbers.gradient_norm));
  }
  return {at::tensor(losses).view({20, 2}), at::tensor(norms)};
}

TEST(GptTraining, TwentyStepsFollowThePeersCurve) {
  const auto wanted = read_golden("gpt.safetensors").at("curve");
  const auto curve = golden_curve({}).first;
  EXPECT_LE(((curve - wanted) / wanted).abs().max().item<double>(), kCurve);
}

TEST(GptTraining, TwentyStepsWithClippedGradientsFollowThePeersCurve) {
  const auto golden = read_golden("gpt.safetensors");
  const auto [curve, norms] = golden_curve(1.0);
  const auto& wanted = golden.at("clipped_curve");
  EXPECT_LE(((curve - wanted) / wanted).abs().max().item<double>(), kCurve);
  EXPECT_LE(relative_error(norms, golden.at("clipped_norms")), kCurve);
}

TEST_F(GptTrainingOnCpu, BatchesOfAStepEqualOneLargeBatch) {
  const auto one = [this](int batches) {
    auto split = split_batch(config_, *device_, 3);
    auto training = make({.step = {.batches_a_step = batches}, .dropout = 0.0});
    std::vector<DeviceBatch*> all = {&split.whole};
    if (batches == 2) all = {&split.parts[0], &split.parts[1]};
    const auto numbers = train(*training, all, 1e-3).at(0);
    return std::pair(numbers, copies(training->weights()));
  };
  const auto [large, large_weights] = one(1);
  const auto [summed, summed_weights] = one(2);
  EXPECT_NEAR(summed.losses[0], large.losses[0], 1e-5);
  EXPECT_NEAR(summed.losses[1], large.losses[1], 1e-5);
  EXPECT_NEAR(summed.gradient_norm / large.gradient_norm, 1.0, 1e-4);
  EXPECT_LE(largest_difference(summed_weights, large_weights), 1e-5);
}

TEST_F(GptTrainingOnCpu, AStepThatIsNotFiniteChangesNoByte) {
  auto training = make({.dropout = 0.0});
  auto good = batch(1);
  train(*training, {&good}, 1e-3);
  const auto weights = copies(training->weights());
  const auto optimiser = copies(training->optimiser());

  auto bad = batch(2);
  bad.prompt_mel[0][0][0] = std::numeric_limits<float>::quiet_NaN();
  const auto numbers = train(*training, {&bad}, 1e-3).at(0);
  EXPECT_TRUE(numbers.skipped);
  EXPECT_EQ(numbers.step, 2);
  expect_equal(training->weights(), weights);
  expect_equal(training->optimiser(), optimiser);

  const auto after = train(*training, {&good}, 1e-3).at(0);
  EXPECT_FALSE(after.skipped);  // nothing of the bad step is left in the gradients
  EXPECT_TRUE(std::isfinite(after.gradient_norm));
}

// In the forward pass and in the backward pass, which are all of a step that takes long.
TEST_F(GptTrainingOnCpu, AStepThatIsGivenUpOnTheWayChangesNoByte) {
  struct GaveUp : std::exception {};
  int calls = 0;
  int last = 0;  // 0: to the end
  auto training = make({.step = {.poll = [&] {
                          if (++calls == last) throw GaveUp();
                        }}});
  auto first = batch(1);
  training->accumulate(first);
  training->update(1e-3);
  const int all = calls;
  EXPECT_GE(all, 4);
  const auto weights = copies(training->weights());
  const auto optimiser = copies(training->optimiser());
  for (last = 1; last <= all; ++last) {
    calls = 0;
    auto next = batch(2);
    EXPECT_THROW(training->accumulate(next), GaveUp);
    EXPECT_EQ(training->step(), 1);
    expect_equal(training->weights(), weights);
    expect_equal(training->optimiser(), optimiser);
  }
}

// There the backward pass updates, and half an update would be kept.
TEST_F(GptTrainingOnCpu, AStepThatUpdatesOnTheWayIsNotGivenUp) {
  auto training = make({.step = {.poll = [] { throw std::runtime_error("half an update"); }},
                        .savers = {.release_gradients = true}});
  auto first = batch(1);
  training->accumulate(first);
  EXPECT_NO_THROW(training->update(1e-3));
}

TEST_F(GptTrainingOnCpu, DropoutIsAFunctionOfSeedStepAndBatch) {
  const auto losses = [this](std::uint64_t seed, std::int64_t draws_between) {
    auto training = make({.step = {.seed = seed}, .dropout = 0.3});
    auto one = batch(1);
    std::vector<double> seen;
    for (int step = 0; step < 3; ++step) {
      if (draws_between > 0) (void)at::rand({draws_between});
      seen.push_back(train(*training, {&one}, 1e-9).at(0).losses[1]);
    }
    return seen;
  };
  const auto once = losses(1, 0);
  EXPECT_EQ(once, losses(1, 7));
  EXPECT_NE(once, losses(2, 0));
  EXPECT_NE(once[0], once[1]);
}

TEST_F(GptTrainingOnCpu, FrozenParametersStayAndHaveNoMoments) {
  auto training = make({.step = {.freeze = {"gpt.text_embedding.*", "*.h.0.*"}}, .dropout = 0.0});
  auto one = batch(1);
  train(*training, {&one, &one}, 1e-2);
  const auto optimiser = training->optimiser();
  for (const auto& [name, weight] : training->weights()) {
    const bool frozen =
        name.starts_with("gpt.text_embedding.") || name.find(".h.0.") != std::string::npos;
    EXPECT_EQ(at::equal(weight, weights_.at(name)), frozen) << name;
    EXPECT_EQ(optimiser.contains("mean." + name), !frozen) << name;
  }
}

TEST_F(GptTrainingOnCpu, ARestoredTrainingContinuesBitForBit) {
  const GptTrainingSettings settings = {.step = {.seed = 5}, .dropout = 0.2};
  auto one = batch(1);
  auto two = batch(2);
  auto whole = make(settings);
  train(*whole, {&one, &two, &one}, 1e-3);
  const auto weights = copies(whole->weights());
  const auto optimiser = copies(whole->optimiser());
  const auto wanted = train(*whole, {&two}, 1e-3).at(0);

  auto resumed = make(settings);
  resumed->restore(3, weights, optimiser);
  EXPECT_EQ(resumed->step(), 3);
  const auto found = train(*resumed, {&two}, 1e-3).at(0);
  EXPECT_EQ(found.step, 4);
  EXPECT_EQ(found.loss, wanted.loss);
  expect_equal(resumed->weights(), whole->weights());
  expect_equal(resumed->optimiser(), whole->optimiser());
}

double losses_apart(const std::vector<StepNumbers>& a, const std::vector<StepNumbers>& b) {
  double most = a.size() == b.size() ? 0 : 1;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    most = std::max(most, std::abs(a[i].loss / b[i].loss - 1.0));
  }
  return most;
}

TEST_F(GptTrainingOnCpu, RecomputedLayersDrawTheSameDropout) {
  auto one = batch(1);
  auto two = batch(2);
  const GptTrainingSettings plain = {.step = {.seed = 3}, .dropout = 0.2};
  auto saving = plain;
  saving.savers.recompute = true;
  auto kept = make(plain);
  auto recomputed = make(saving);
  const auto wanted = train(*kept, {&one, &two, &one, &two}, 1e-3);
  EXPECT_LE(losses_apart(train(*recomputed, {&one, &two, &one, &two}, 1e-3), wanted), 1e-5);
  EXPECT_LE(largest_difference(recomputed->weights(), kept->weights()), 1e-5);
}

TEST_F(GptTrainingOnCpu, RecomputedLayersAreTrainedWhereNothingBeforeThemIs) {
  GptTrainingSettings settings = {.step = {.freeze = {"gpt.*embedding*", "gpt.cond*"}},
                                  .dropout = 0.0};
  settings.savers.recompute = true;
  auto training = make(settings);
  auto one = batch(1);
  train(*training, {&one}, 1e-2);
  const auto weights = training->weights();
  const std::string first_layer = "gpt.gpt.h.0.attn.c_attn.weight";
  EXPECT_FALSE(at::equal(weights.at(first_layer), weights_.at(first_layer)));
}

TEST_F(GptTrainingOnCpu, ReleasedGradientsGiveTheSameWeights) {
  auto one = batch(1);
  auto two = batch(2);
  auto kept = make({.step = {.seed = 3}, .dropout = 0.2});
  GptTrainingSettings settings = {.step = {.seed = 3}, .dropout = 0.2};
  settings.savers.release_gradients = true;
  auto released = make(settings);
  const auto wanted = train(*kept, {&one, &two, &one}, 1e-3);
  const auto found = train(*released, {&one, &two, &one}, 1e-3);
  EXPECT_EQ(losses_apart(found, wanted), 0.0);
  EXPECT_NEAR(found[2].gradient_norm / wanted[2].gradient_norm, 1.0, 1e-5);
  expect_equal(released->weights(), kept->weights());
}

TEST_F(GptTrainingOnCpu, AReleasedStepThatIsNotFiniteChangesNoByte) {
  GptTrainingSettings settings = {.dropout = 0.0};
  settings.savers.release_gradients = true;
  auto training = make(settings);
  auto bad = batch(2);
  bad.prompt_mel[0][0][0] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(train(*training, {&bad}, 1e-3).at(0).skipped);
  expect_equal(training->weights(), weights_);
}

TEST_F(GptTrainingOnCpu, ReleasedGradientsAreRefusedWhereTheyCannotBe) {
  GptTrainingSettings settings;
  settings.savers.release_gradients = true;
  settings.step.grad_clip = 1.0;
  EXPECT_THROW(make(settings), ConfigError);
  settings.step.grad_clip.reset();
  settings.step.batches_a_step = 2;
  EXPECT_THROW(make(settings), ConfigError);
}

TEST_F(GptTrainingOnCpu, Bf16FollowsFp32AndSumsOfItsBatchesAreExact) {
  auto one = batch(1);
  auto two = batch(2);
  auto exact = make({.dropout = 0.0});
  auto fast = make({.step = {.precision = Precision::Bf16}, .dropout = 0.0});
  const std::vector<DeviceBatch*> steps = {&one, &two, &one, &two, &one, &two};
  EXPECT_LE(losses_apart(train(*fast, steps, 1e-3), train(*exact, steps, 1e-3)), 0.02);

  auto split = split_batch(config_, *device_, 3);
  auto large = make({.step = {.precision = Precision::Bf16}, .dropout = 0.0});
  auto summed = make({.step = {.precision = Precision::Bf16, .batches_a_step = 2}, .dropout = 0.0});
  const auto wanted = train(*large, {&split.whole}, 1e-3).at(0);
  const auto found = train(*summed, {&split.parts[0], &split.parts[1]}, 1e-3).at(0);
  EXPECT_NEAR(found.loss / wanted.loss, 1.0, 0.005);
  EXPECT_NEAR(found.gradient_norm / wanted.gradient_norm, 1.0, 0.02);
}

TEST_F(GptTrainingOnCpu, MomentsOfAnotherPrecisionAreConverted) {
  auto one = batch(1);
  auto exact = make({.dropout = 0.0});
  train(*exact, {&one, &one, &one}, 1e-3);
  const auto weights = copies(exact->weights());
  const auto optimiser = copies(exact->optimiser());
  const auto wanted = train(*exact, {&one, &one}, 1e-3);
  for (const Moments moments : {Moments::Bf16, Moments::EightBit}) {
    GptTrainingSettings settings = {.dropout = 0.0};
    settings.savers.moments = moments;
    auto shorter = make(settings);
    shorter->restore(3, weights, optimiser);
    EXPECT_LE(losses_apart(train(*shorter, {&one, &one}, 1e-3), wanted), 0.01);
    auto back = make({.dropout = 0.0});
    back->restore(5, copies(shorter->weights()), copies(shorter->optimiser()));
    EXPECT_EQ(back->optimiser().at("applied").item<std::int64_t>(), 5);
  }
  auto damaged = optimiser;
  damaged.erase("square.gpt.text_head.weight");
  EXPECT_THROW(exact->restore(3, weights, damaged), DataError);
}

TEST_F(GptTrainingOnCpu, AGuideIsALossOfItsOwnThatFalls) {
  auto training = make({.dropout = 0.0, .guide = 1});
  ASSERT_EQ(training->loss_names(),
            (std::vector<std::string>{"text_loss", "audio_loss", "guide_loss"}));
  auto repeated = batch(1);
  const std::vector<DeviceBatch*> steps(30, &repeated);
  const auto numbers = train(*training, steps, 1e-3);
  const auto& first = numbers.front();
  auto unguided = make({.dropout = 0.0, .guide = 1e-9});  // measured, and not striven for
  const double without = train(*unguided, steps, 1e-3).back().losses[2];
  EXPECT_LT(numbers.back().losses[2], 0.8 * without);
  EXPECT_NEAR(first.loss, training->total(first.losses), 1e-5)
      << "the guide is not a loss of speech";
  const auto sums = training->evaluate(repeated);
  ASSERT_EQ(sums.sizes(), (std::vector<std::int64_t>{2, 3}));
  EXPECT_LT((sums[0][2] / sums[1][2]).item<double>(), 0.8 * without);
}

TEST_F(GptTrainingOnCpu, WithoutAGuideItsHeadIsLeftAlone) {
  auto plain = make({.dropout = 0.0});
  auto guided = make({.dropout = 0.0, .guide = 1});
  EXPECT_EQ(plain->loss_names().size(), 2U);
  auto one = batch(1);
  EXPECT_EQ(train(*plain, {&one}, 1e-3).front().losses[1],
            train(*guided, {&one}, 1e-3).front().losses[1])
      << "the same network before the first update";
  EXPECT_GT(largest_difference(plain->weights(), guided->weights()), 0.0);
}

TEST_F(GptTrainingOnCpu, EvaluationGivesSumsAndCountsOfABatchWithoutDropout) {
  auto training = make({.dropout = 0.5});
  auto one = batch(1);
  const auto sums = training->evaluate(one);
  EXPECT_TRUE(at::equal(sums, training->evaluate(one)));
  auto still = make({.dropout = 0.0});
  const auto numbers = train(*still, {&one}, 1e-9).at(0);
  EXPECT_NEAR(sums[0][0].item<double>() / sums[1][0].item<double>(), numbers.losses[0], 1e-4);
  EXPECT_NEAR(sums[0][1].item<double>() / sums[1][1].item<double>(), numbers.losses[1], 1e-4);
  EXPECT_EQ(sums[1][1].item<double>(), one.rows.audio_count.item<double>());
}

}  // namespace
}  // namespace myxtts::test::gpt_training_test
