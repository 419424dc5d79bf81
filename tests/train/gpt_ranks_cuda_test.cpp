// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <functional>
#include <memory>
#include <vector>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "../parallel/rank_threads.h"
#include "device/cuda_plugin.h"
#include "support/training_batches.h"
#include "train/gpt/gpt_training.h"

// The GPT's training over NCCL, as the only rank there is: the sums change no bit, wherever they
// stand. What several GPUs do together needs several GPUs.

namespace myxtts::test::gpt_ranks_cuda_test {
namespace {

constexpr double kRate = 1e-3;
constexpr int kSteps = 6;

// Two sizes that batches are padded to.
const std::vector<RowSizes> kSizes = {
    {.tokens = 192, .text_targets = 48, .audio_targets = 112, .longest = 96, .segments = 5},
    {.tokens = 320, .text_targets = 64, .audio_targets = 160, .longest = 96, .segments = 8}};
constexpr std::int64_t kSlots = 4;
constexpr std::int64_t kFrames = 24;

struct Trained {
  std::vector<StepNumbers> numbers;
  NamedTensors weights;    // on the CPU
  NamedTensors optimiser;  // likewise
};

class GptRanksCuda : public ::testing::Test {
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

  static GptTrainingSettings settings(Precision precision, bool graphs) {
    return {.step = {.precision = precision,
                     .grad_clip = 1.0,
                     .seed = 3,
                     .graphs = graphs,
                     .deterministic = true},
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

  // Gathered averages are whole on the role's stream, not yet on others.
  NamedTensors on_cpu(const NamedTensors& tensors) {
    const auto scope = device_->enter(device_->stream());
    NamedTensors copied;
    for (const auto& [name, tensor] : tensors) copied.emplace(name, tensor.cpu());
    return copied;
  }

  Trained train(const GptTrainingSettings& chosen) {
    std::vector<DeviceBatch> batches;
    for (std::uint64_t seed = 1; seed <= 4; ++seed) batches.push_back(batch(seed));
    const auto training = make_gpt_training(config_, weights_, *device_, chosen);
    std::size_t next = 0;
    for (int step = 0; step < kSteps; ++step) {
      for (std::int64_t i = 1; i <= chosen.step.batches_a_step; ++i) {
        DeviceBatch& one = batches[next++ % batches.size()];
        one.ends_step = i == chosen.step.batches_a_step;
        training->accumulate(one);
      }
      training->update(kRate);
    }
    return {.numbers = training->finish_numbers(),
            .weights = on_cpu(training->weights()),
            .optimiser = on_cpu(training->optimiser())};
  }

  void as_only_rank(const std::function<void(RankTeam&)>& work) {
    const auto failures = with_ranks(1, work, std::chrono::seconds(60));
    EXPECT_EQ(failures.front(), "");
  }

  Trained train_as_rank(GptTrainingSettings chosen) {
    Trained trained;
    as_only_rank([&](RankTeam& team) {
      chosen.team = &team;
      trained = train(chosen);
    });
    return trained;
  }

  const CudaPlugin& plugin_ = cuda_plugin();  // first: LibTorch looks for CUDA once
  GptConfig config_ = small_gpt();
  NamedTensors weights_ = random_gpt_weights(config_);
  std::unique_ptr<RoleDevice> device_;
};

void expect_equal(const NamedTensors& found, const NamedTensors& wanted) {
  ASSERT_EQ(found.size(), wanted.size());
  for (const auto& [name, tensor] : wanted) {
    EXPECT_TRUE(at::equal(found.at(name), tensor)) << name;
  }
}

void expect_same(const Trained& found, const Trained& wanted) {
  ASSERT_EQ(found.numbers.size(), wanted.numbers.size());
  for (std::size_t i = 0; i < wanted.numbers.size(); ++i) {
    EXPECT_EQ(found.numbers[i].loss, wanted.numbers[i].loss) << "step " << i + 1;
    EXPECT_EQ(found.numbers[i].gradient_norm, wanted.numbers[i].gradient_norm) << "step " << i + 1;
    EXPECT_FALSE(found.numbers[i].skipped);
  }
  expect_equal(found.weights, wanted.weights);
  expect_equal(found.optimiser, wanted.optimiser);
}

TEST_F(GptRanksCuda, OneRankTrainsAsNoneBitForBit) {
  for (const Precision precision : {Precision::Bf16, Precision::Fp32}) {
    for (const bool graphs : {false, true}) {
      const auto chosen = settings(precision, graphs);
      const Trained ranks = train_as_rank(chosen);
      expect_same(ranks, train(chosen));
      EXPECT_NE(ranks.numbers[0].loss, ranks.numbers[4].loss);
    }
  }
}

TEST_F(GptRanksCuda, SeveralBatchesAStepAreSummedOnceBitForBit) {
  for (const Precision precision : {Precision::Bf16, Precision::Fp32}) {
    for (const bool graphs : {false, true}) {
      auto chosen = settings(precision, graphs);
      chosen.step.batches_a_step = 2;
      expect_same(train_as_rank(chosen), train(chosen));
    }
  }
}

TEST_F(GptRanksCuda, RecomputedLayersAreSummedWhenTheyAreWhole) {
  for (const bool graphs : {false, true}) {
    auto chosen = settings(Precision::Bf16, graphs);
    chosen.savers.recompute = true;
    expect_same(train_as_rank(chosen), train(chosen));
  }
}

// The part of the only rank is the whole; AdamW, the gathering and the copy of weights are others.
TEST_F(GptRanksCuda, PartsOfTheAveragesMakeTheSameUpdate) {
  for (const Moments moments : {Moments::Fp32, Moments::EightBit}) {
    auto chosen = settings(Precision::Bf16, true);
    chosen.savers.moments = moments;
    auto in_parts = chosen;
    in_parts.shard = true;
    expect_same(train_as_rank(in_parts), train(chosen));
  }
}

// Gradients of fp32 are rounded for the way, those of bf16 are what they are.
TEST_F(GptRanksCuda, ShortNumbersOnTheWireRoundGradientsOfFp32Alone) {
  for (const bool graphs : {false, true}) {
    for (const Precision precision : {Precision::Bf16, Precision::Fp32}) {
      const auto chosen = settings(precision, graphs);
      auto rounded = chosen;
      rounded.wire = Wire::Bf16;
      const Trained wanted = train(chosen);
      const Trained found = train_as_rank(rounded);
      if (precision == Precision::Bf16) {
        expect_same(found, wanted);
        continue;
      }
      for (std::size_t i = 0; i < wanted.numbers.size(); ++i) {
        EXPECT_NEAR(found.numbers[i].loss / wanted.numbers[i].loss, 1.0, 0.01) << i;
        EXPECT_NEAR(found.numbers[i].gradient_norm / wanted.numbers[i].gradient_norm, 1.0, 0.05);
      }
      EXPECT_NE(found.numbers[0].gradient_norm, wanted.numbers[0].gradient_norm);
    }
  }
}

// Where an epoch ends a rank may have nothing left: it must sum all the same, and with no clips of
// anybody the gradient is none.
TEST_F(GptRanksCuda, ARankWithoutClipsSumsZeros) {
  for (const bool graphs : {false, true}) {
    as_only_rank([&](RankTeam& team) {
      auto chosen = settings(Precision::Bf16, graphs);
      chosen.team = &team;
      chosen.step.weight_decay = 0;
      const auto training = make_gpt_training(config_, weights_, *device_, chosen);
      auto full = batch(1);
      auto empty = batch(2);
      empty.rows.clips = 0;
      const auto step = [&training](DeviceBatch& one) {
        training->accumulate(one);
        training->update(kRate);
        return training->finish_numbers().at(0);
      };
      const double norm = step(full).gradient_norm;
      EXPECT_GT(norm, 0.0);
      const StepNumbers none = step(empty);
      EXPECT_EQ(none.gradient_norm, 0.0);
      EXPECT_EQ(none.loss, 0.0);
      EXPECT_FALSE(none.skipped);
      EXPECT_GT(step(full).gradient_norm, 0.0);
    });
  }
}

TEST_F(GptRanksCuda, ATrainingThatIsWholeSettlesAtOnce) {
  as_only_rank([&](RankTeam& team) {
    auto chosen = settings(Precision::Bf16, true);
    chosen.team = &team;
    const auto training = make_gpt_training(config_, weights_, *device_, chosen);
    auto one = batch(1);
    training->accumulate(one);
    training->update(kRate);
    EXPECT_TRUE(training->finish_queued());
    EXPECT_NO_THROW(training->finish_numbers());
  });
}

}  // namespace
}  // namespace myxtts::test::gpt_ranks_cuda_test
