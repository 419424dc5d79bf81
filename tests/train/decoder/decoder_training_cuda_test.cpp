// SPDX-License-Identifier: Apache-2.0
#include "train/decoder/decoder_training.h"

#include <cmath>
#include <memory>
#include <vector>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "device/cuda_plugin.h"
#include "train/decoder/decoder_batches.h"

// The decoder's training on a GPU: graphs and shorter arithmetic change how a step is computed, not
// what.

namespace myxtts::test::decoder_training_cuda_test {
namespace {

class DecoderTrainingCuda : public ::testing::Test {
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
    at::globalContext().setBenchmarkCuDNN(false);
  }

  // The losses of steps without discriminators and, from the third on, with them.
  std::vector<double> train(RoleDevice& device, Precision precision, bool graphs, int steps = 6) {
    std::vector<DeviceBatch> batches;
    {
      const auto scope = device.enter(device.stream());
      for (std::uint64_t seed = 1; seed <= 2; ++seed) {
        batches.push_back(decoder_batch(config_, device, {.codes = seed, .sound = seed}));
      }
    }
    const auto training = make_decoder_training(
        config_, weights_, device,
        {.step = {.precision = precision, .weight_decay = 0.0, .graphs = graphs},
         .windows = kTestWindows,
         .window_frames = kTestFrames,
         .mel_only_steps = 2});
    for (int step = 0; step < steps; ++step) {
      training->accumulate(batches[static_cast<std::size_t>(step) % 2]);
      training->update(1e-3);
    }
    std::vector<double> losses;
    for (const auto& numbers : training->finish_numbers()) {
      EXPECT_FALSE(numbers.skipped);
      losses.insert(losses.end(), numbers.losses.begin(), numbers.losses.end());
    }
    return losses;
  }

  static void expect_near(const std::vector<double>& found, const std::vector<double>& wanted,
                          double tolerance) {
    ASSERT_EQ(found.size(), wanted.size());
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      EXPECT_NEAR(found[i], wanted[i], tolerance * std::abs(wanted[i])) << "number " << i;
    }
  }

  const CudaPlugin& plugin_ = cuda_plugin();  // first: LibTorch looks for CUDA once
  const ModelConfig config_ = small_speaking_model();
  const NamedTensors weights_ = random_speaking_weights(config_);
  std::unique_ptr<RoleDevice> device_;
};

TEST_F(DecoderTrainingCuda, GraphsGiveTheStepsOfEager) {
  const auto eager = train(*device_, Precision::Fp32, false);
  EXPECT_GT(eager.back(), 0.0);
  expect_near(train(*device_, Precision::Fp32, true), eager, 2e-3);
}

TEST_F(DecoderTrainingCuda, GivesTheStepsOfTheCpu) {
  const auto cpu = open_role_device(Role::Model, RolePlan{});
  expect_near(train(*device_, Precision::Fp32, true), train(*cpu, Precision::Fp32, false), 2e-2);
}

TEST_F(DecoderTrainingCuda, Bf16TrainsNearlyAsWell) {
  const auto wanted = train(*device_, Precision::Fp32, true, 40);
  const auto found = train(*device_, Precision::Bf16, true, 40);
  const auto last = wanted.size() - 4;  // the mel error of the last step
  EXPECT_LT(wanted[last], 0.8 * wanted[0]);
  EXPECT_NEAR(found[last], wanted[last], 0.15 * wanted[last]);
}

}  // namespace
}  // namespace myxtts::test::decoder_training_cuda_test
