// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>
#include <memory>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "device/cuda_plugin.h"
#include "model/named_tensors.h"
#include "model/network_specs.h"
#include "support/small_networks.h"
#include "train/dvae/dvae_training.h"
#include "train/dvae/mel_windows.h"

// The DVAE's training on a GPU: graphs change how a step is computed, not what.

namespace myxtts::test::dvae_training_cuda_test {
namespace {

class DvaeTrainingCuda : public ::testing::Test {
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

  static DvaeTrainingSettings settings(bool graphs) {
    // Codes begin anew soon.
    return {.step = {.seed = 3, .graphs = graphs, .deterministic = true},
            .codebook = {.decay = 0.8, .least_use = 0.3, .begin_steps = 5},
            .windows = 8,
            .frames = 64};
  }

  struct Trained {
    std::vector<StepNumbers> numbers;
    NamedTensors weights;  // on the CPU
  };

  Trained run(RoleDevice& device, const DvaeTrainingSettings& settings, int steps,
              int bad_step = -1) {
    const auto scope = device.enter(device.stream());
    const auto training = make_dvae_training(small_dvae(), initialise(dvae_specs(small_dvae()), 1),
                                             at::ones({80}), device, settings);
    for (int step = 0; step < steps; ++step) {
      auto mel = speechlike_mel(8, 64, static_cast<std::uint64_t>(step % 4));
      if (step == bad_step) mel[0][0][0] = std::numeric_limits<float>::quiet_NaN();
      auto batch = mel_batch(mel, device);
      training->accumulate(batch);
      training->update(1e-3);
    }
    Trained trained = {.numbers = training->finish_numbers(), .weights = {}};
    for (const auto& [name, weight] : training->weights()) {
      trained.weights.emplace(name, weight.cpu());
    }
    return trained;
  }

  const CudaPlugin& plugin_ = cuda_plugin();  // first: LibTorch looks for CUDA once
  std::unique_ptr<RoleDevice> device_;
};

TEST_F(DvaeTrainingCuda, GraphsGiveTheStepsOfEagerBitForBit) {
  const auto eager = run(*device_, settings(false), 40, 20);
  const auto graphs = run(*device_, settings(true), 40, 20);
  for (std::size_t step = 0; step < 40; ++step) {
    EXPECT_EQ(graphs.numbers[step].skipped, step == 20);
    if (step == 20) continue;
    EXPECT_EQ(graphs.numbers[step].losses, eager.numbers[step].losses) << "step " << step + 1;
  }
  for (const auto& [name, weight] : eager.weights) {
    EXPECT_TRUE(at::equal(graphs.weights.at(name), weight)) << name;
  }
}

// Not what is drawn, as the generators differ: a codebook that is not new and does not begin anew.
TEST_F(DvaeTrainingCuda, AStepIsThatOfTheCpu) {
  auto plain = settings(true);
  plain.codebook = {.least_use = 0};
  const auto cpu = open_role_device(Role::Model, RolePlan{});
  const auto one = [&](RoleDevice& device, bool graphs) {
    auto own = plain;
    own.step.graphs = graphs;
    auto weights = initialise(dvae_specs(small_dvae()), 1);
    weights.at("codebook.cluster_size").fill_(1);
    const auto scope = device.enter(device.stream());
    const auto training = make_dvae_training(small_dvae(), weights, at::ones({80}), device, own);
    auto batch = mel_batch(speechlike_mel(8, 64, 1), device);
    return train(*training, {&batch}, 3, 1e-3).back();
  };
  const auto gpu_numbers = one(*device_, true);
  const auto cpu_numbers = one(*cpu, false);
  for (std::size_t loss = 0; loss < cpu_numbers.losses.size(); ++loss) {
    EXPECT_NEAR(gpu_numbers.losses[loss] / cpu_numbers.losses[loss], 1, 1e-3) << loss;
  }
}

}  // namespace
}  // namespace myxtts::test::dvae_training_cuda_test
