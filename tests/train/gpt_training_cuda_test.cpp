// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <vector>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "device/cuda_plugin.h"
#include "support/training_batches.h"
#include "train/gpt/gpt_training.h"

// The GPT's training on a GPU: graphs and savers change how a step is computed, not what.

namespace myxtts::test::gpt_training_cuda_test {
namespace {

constexpr double kRate = 1e-3;

// Two sizes that batches are padded to.
const std::vector<RowSizes> kSizes = {
    {.tokens = 192, .text_targets = 48, .audio_targets = 112, .longest = 96, .segments = 5},
    {.tokens = 320, .text_targets = 64, .audio_targets = 160, .longest = 96, .segments = 8}};
constexpr std::int64_t kSlots = 4;
constexpr std::int64_t kFrames = 24;

struct Trained {
  std::vector<StepNumbers> numbers;
  NamedTensors weights;  // on the CPU
};

class GptTrainingCuda : public ::testing::Test {
 protected:
  void SetUp() override {
    if (plugin_.backend == nullptr) GTEST_SKIP() << "no CUDA device here: " << plugin_.reason;
    RolePlan plan;
    plan.gpu = PlannedGpu{};
    device_ = open_role_device(Role::Model, plan);
  }

  void TearDown() override {
    at::globalContext().setDeterministicAlgorithms(false, false);
    at::globalContext().setDeterministicCuDNN(false);
  }

  static GptTrainingSettings bf16() {
    return {
        .step = {.precision = Precision::Bf16, .seed = 3, .graphs = true, .deterministic = true},
        .sizes = kSizes,
        .slots = kSlots,
        .prompt_frames = kFrames};
  }

  DeviceBatch batch(std::uint64_t seed) {
    const auto scope = device_->enter(device_->stream());
    const std::int64_t clips = seed % 2 == 0 ? 4 : 2;
    return random_batch(config_, *device_,
                        {.clips = clips,
                         .prompt_frames = kFrames,
                         .sizes = kSizes[clips == 4 ? 1 : 0],
                         .slots = kSlots},
                        seed);
  }

  // Steps over four batches of two sizes in turn.
  Trained train(const GptTrainingSettings& settings, int steps, double rate = kRate) {
    std::vector<DeviceBatch> batches;
    for (std::uint64_t seed = 1; seed <= 4; ++seed) batches.push_back(batch(seed));
    const auto training = make_gpt_training(config_, weights_, *device_, settings);
    for (int step = 0; step < steps; ++step) {
      training->accumulate(batches[static_cast<std::size_t>(step) % batches.size()]);
      training->update(rate);
    }
    Trained run = {.numbers = training->finish_numbers(), .weights = {}};
    for (const auto& [name, weight] : training->weights()) run.weights.emplace(name, weight.cpu());
    return run;
  }

  const CudaPlugin& plugin_ = cuda_plugin();  // first: LibTorch looks for CUDA once
  GptConfig config_ = small_gpt();
  NamedTensors weights_ = random_gpt_weights(config_);
  std::unique_ptr<RoleDevice> device_;
};

void expect_same(const Trained& found, const Trained& wanted) {
  ASSERT_EQ(found.numbers.size(), wanted.numbers.size());
  for (std::size_t i = 0; i < wanted.numbers.size(); ++i) {
    EXPECT_EQ(found.numbers[i].loss, wanted.numbers[i].loss) << "step " << i + 1;
    EXPECT_FALSE(found.numbers[i].skipped);
  }
  for (const auto& [name, weight] : wanted.weights) {
    EXPECT_TRUE(at::equal(found.weights.at(name), weight)) << name;
  }
}

// Largest difference of the losses, relative.
double apart(const Trained& a, const Trained& b) {
  double most = 0;
  for (std::size_t i = 0; i < a.numbers.size(); ++i) {
    most = std::max(most, std::abs(a.numbers[i].loss / b.numbers[i].loss - 1.0));
  }
  return most;
}

TEST_F(GptTrainingCuda, GraphsOfTwoSizesGiveTheStepsOfEagerBitForBit) {
  auto eager = bf16();
  eager.step.graphs = false;
  const Trained graphs = train(bf16(), 8);
  expect_same(graphs, train(eager, 8));
  EXPECT_NE(graphs.numbers[0].loss, graphs.numbers[4].loss);
}

TEST_F(GptTrainingCuda, TwoDeterministicRunsAreEqualAndAnotherSeedIsNot) {
  const Trained once = train(bf16(), 8);
  expect_same(train(bf16(), 8), once);
  auto other = bf16();
  other.step.seed = 4;
  EXPECT_NE(train(other, 8).numbers.back().loss, once.numbers.back().loss);
}

TEST_F(GptTrainingCuda, RecomputedLayersDrawTheSameDropoutInAGraphAndOutsideOne) {
  const Trained plain = train(bf16(), 8);
  for (const bool graphs : {true, false}) {
    auto saving = bf16();
    saving.savers.recompute = true;
    saving.step.graphs = graphs;
    EXPECT_LE(apart(train(saving, 8), plain), 1e-4) << graphs;
  }
}

TEST_F(GptTrainingCuda, ReleasedGradientsGiveTheSameSteps) {
  const Trained plain = train(bf16(), 8);
  for (const bool graphs : {true, false}) {
    auto saving = bf16();
    saving.savers.release_gradients = true;
    saving.step.graphs = graphs;
    expect_same(train(saving, 8), plain);
  }
}

TEST_F(GptTrainingCuda, ShortMomentsTrainNearlyAsWell) {
  const Trained plain = train(bf16(), 40);
  for (const Moments moments : {Moments::Bf16, Moments::EightBit}) {
    auto saving = bf16();
    saving.savers.moments = moments;
    EXPECT_LE(apart(train(saving, 40), plain), moments == Moments::Bf16 ? 0.01 : 0.03);
  }
}

TEST_F(GptTrainingCuda, TwoHundredBf16StepsStayWithinHalfAPercentOfFp32) {
  auto fast = bf16();
  fast.dropout = 0.0;
  fast.step.deterministic = false;
  auto exact = fast;
  exact.step.precision = Precision::Fp32;
  exact.step.graphs = false;
  const Trained wanted = train(exact, 200, 1e-4);
  const double most = apart(train(fast, 200, 1e-4), wanted);
  EXPECT_LE(most, 0.005);
  EXPECT_LT(wanted.numbers.back().loss, 0.97 * wanted.numbers[3].loss);  // it learnt something
}

TEST_F(GptTrainingCuda, Fp16FindsALossScaleAndTrains) {
  auto half = bf16();
  half.step.precision = Precision::Fp16;
  half.dropout = 0.0;
  auto exact = half;
  exact.step.precision = Precision::Fp32;
  exact.step.graphs = false;
  exact.step.deterministic = false;
  const Trained found = train(half, 30);
  const Trained wanted = train(exact, 30);
  EXPECT_NEAR(found.numbers[0].loss / wanted.numbers[0].loss, 1.0, 0.005);
  EXPECT_FALSE(found.numbers.back().skipped);
  EXPECT_GE(found.numbers.back().loss_scale, 256.0);
  EXPECT_NEAR(found.numbers.back().gradient_norm / wanted.numbers.back().gradient_norm, 1.0, 0.2);
}

TEST_F(GptTrainingCuda, ANanInAPromptSkipsTheStepAndLeavesEveryByte) {
  auto settings = bf16();
  auto good = batch(1);
  auto bad = batch(2);
  {
    const auto scope = device_->enter(device_->stream());
    bad.prompt_mel.index({0, 0, 0}).fill_(std::numeric_limits<float>::quiet_NaN());
  }
  const auto training = make_gpt_training(config_, weights_, *device_, settings);
  const auto step = [&](DeviceBatch& with) {
    training->accumulate(with);
    training->update(kRate);
    return training->finish_numbers().at(0);
  };
  step(good);
  NamedTensors before;
  for (const auto& [name, weight] : training->weights()) before.emplace(name, weight.cpu());
  EXPECT_TRUE(step(bad).skipped);
  for (const auto& [name, weight] : training->weights()) {
    EXPECT_TRUE(at::equal(weight.cpu(), before.at(name))) << name;
  }
  EXPECT_FALSE(step(good).skipped);
}

TEST_F(GptTrainingCuda, AccumulatedBatchesInAGraphEqualTheLargeBatch) {
  auto settings = bf16();
  settings.dropout = 0.0;
  settings.step.batches_a_step = 2;
  auto one = batch(1);
  auto other = batch(3);
  {
    const auto scope = device_->enter(device_->stream());
    for (auto* each : {&one, &other}) {
      each->rows.text_count.mul_(2.0);
      each->rows.audio_count.mul_(2.0);
    }
  }
  const auto training = make_gpt_training(config_, weights_, *device_, settings);
  training->accumulate(one);
  training->accumulate(other);
  training->update(kRate);
  const auto both = training->finish_numbers().at(0);

  settings.step.batches_a_step = 1;
  const auto alone = make_gpt_training(config_, weights_, *device_, settings);
  double sum = 0;
  for (auto* each : {&one, &other}) {
    alone->accumulate(*each);
    alone->update(1e-12);
    sum += alone->finish_numbers().at(0).loss;
  }
  EXPECT_NEAR(both.loss / sum, 1.0, 1e-4);
}

TEST_F(GptTrainingCuda, TooLittleMemoryIsOneErrorThatNamesTheCap) {
  RolePlan plan;
  plan.gpu = PlannedGpu{};
  plan.memory_cap_bytes = 4'000'000;
  const auto small = open_role_device(Role::Model, plan);
  try {
    const auto training = make_gpt_training(config_, weights_, *small, bf16());
    FAIL() << "it fitted into 4 MB";
  } catch (const DeviceError& error) {
    EXPECT_NE(std::string(error.what()).find("--model-gpu-memory"), std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace myxtts::test::gpt_training_cuda_test
