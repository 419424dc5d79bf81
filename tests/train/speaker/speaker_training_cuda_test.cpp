// SPDX-License-Identifier: Apache-2.0
#include <limits>
#include <memory>

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <gtest/gtest.h>

#include "config/model.h"
#include "device/cuda_plugin.h"
#include "device/torch_device.h"
#include "model/named_tensors.h"
#include "model/network_specs.h"
#include "model/speaker_encoder.h"
#include "train/speaker/speaker_training.h"

// The speaker encoder's training on a GPU: graphs change how a step is computed, not what.

namespace myxtts::test::speaker_training_cuda_test {
namespace {

constexpr std::int64_t kWindows = 6;
constexpr std::int64_t kSamples = 12'000;

class SpeakerTrainingCuda : public ::testing::Test {
 protected:
  SpeakerTrainingCuda() {
    auto made = initialise(speaker_encoder_specs(config_), 1);
    made.merge(speaker_encoder_tables(config_));
    for (auto& [name, tensor] : made) weights_.emplace(kSpeakerEncoderPrefix + name, tensor);
  }

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

  // Noise of three colours, a speaker each.
  static DeviceBatch batch(RoleDevice& device, std::uint64_t seed) {
    const auto noise = at::randn({kWindows, kSamples}, at::detail::createCPUGenerator(seed)) * 0.1;
    const auto speakers = at::arange(kWindows, at::kLong).remainder(3);
    const auto colour = (speakers.to(at::kFloat) - 1).unsqueeze(1);
    DeviceBatch made;
    const auto on = torch_device(device);
    made.windows.sound = (noise + noise.roll(1, 1) * colour).to(on);
    made.windows.speakers = speakers.to(on);
    made.windows.weights = at::ones({kWindows}).to(on);
    made.filled = device.make_event();
    made.consumed = device.make_event();
    return made;
  }

  struct Trained {
    std::vector<StepNumbers> numbers;
    NamedTensors weights;  // on the CPU
  };

  Trained run(RoleDevice& device, bool graphs, int steps, int bad_step = -1) {
    const auto scope = device.enter(device.stream());
    const auto training = make_speaker_training(config_, weights_, device,
                                                {.step = {.graphs = graphs, .deterministic = true},
                                                 .speakers = 3,
                                                 .windows = kWindows,
                                                 .samples = kSamples});
    for (int step = 0; step < steps; ++step) {
      auto one = batch(device, static_cast<std::uint64_t>(step % 4));
      if (step == bad_step) one.windows.sound[0][5] = std::numeric_limits<float>::quiet_NaN();
      training->accumulate(one);
      training->update(1e-3);
    }
    Trained trained = {.numbers = training->finish_numbers(), .weights = {}};
    for (const auto& [name, weight] : training->weights()) {
      trained.weights.emplace(name, weight.cpu());
    }
    return trained;
  }

  const CudaPlugin& plugin_ = cuda_plugin();  // first: LibTorch looks for CUDA once
  const SpeakerEncoderConfig config_ = model_preset("tiny").speaker_encoder;
  NamedTensors weights_;
  std::unique_ptr<RoleDevice> device_;
};

TEST_F(SpeakerTrainingCuda, GraphsGiveTheStepsOfEagerAndLeaveOutWhatIsNotFinite) {
  const auto eager = run(*device_, false, 20, 10);
  const auto graphs = run(*device_, true, 20, 10);
  ASSERT_EQ(graphs.numbers.size(), 20U);
  for (std::size_t step = 0; step < 20; ++step) {
    EXPECT_EQ(graphs.numbers[step].skipped, step == 10);
    if (step == 10) continue;
    EXPECT_NEAR(graphs.numbers[step].loss, eager.numbers[step].loss, 1e-3) << "step " << step + 1;
  }
  for (const auto& [name, weight] : eager.weights) {
    EXPECT_TRUE(at::allclose(graphs.weights.at(name), weight, 1e-2, 1e-4)) << name;
  }
  EXPECT_LT(graphs.numbers.back().loss, 0.8 * graphs.numbers.front().loss);
}

TEST_F(SpeakerTrainingCuda, AStepIsThatOfTheCpu) {
  const auto cpu = open_role_device(Role::Model, RolePlan{});
  const auto on_gpu = run(*device_, true, 3);
  const auto on_cpu = run(*cpu, false, 3);
  for (std::size_t step = 0; step < 3; ++step) {
    EXPECT_NEAR(on_gpu.numbers[step].loss / on_cpu.numbers[step].loss, 1, 2e-3) << step;
  }
  const auto mean = std::string(kSpeakerEncoderPrefix) + "bn1.running_mean";
  EXPECT_TRUE(at::allclose(on_gpu.weights.at(mean), on_cpu.weights.at(mean), 1e-3, 1e-5));
}

}  // namespace
}  // namespace myxtts::test::speaker_training_cuda_test
