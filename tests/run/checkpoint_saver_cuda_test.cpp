// SPDX-License-Identifier: Apache-2.0
#include "run/checkpoint_saver.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "device/cuda_plugin.h"
#include "run/open_model.h"
#include "support/temporary_folder.h"

namespace myxtts::checkpoint_saver_cuda_test {
namespace {

using test::TemporaryFolder;

constexpr std::int64_t kValues = 24 << 20;  // 100 MB each: several blocks, a copy takes a while
constexpr int kTensors = 4;

// A role with a cap has no room for a second set of tensors: its copies lie in host memory.
class CheckpointSaverCuda : public ::testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    if (cuda_plugin().backend == nullptr) {
      GTEST_SKIP() << "no CUDA device here: " << cuda_plugin().reason;
    }
    RolePlan plan{.gpu = PlannedGpu{}};
    if (GetParam()) plan.memory_cap_bytes = 900'000'000;
    device_ = open_role_device(Role::Model, plan);
  }

  // Every value is the number of the step, plus that of the tensor.
  void step(CheckpointContents& contents, std::int64_t number) {
    const auto scope = device_->enter(device_->stream());
    contents.state.step = number;
    for (int i = 0; i < kTensors; ++i) {
      auto& tensor = (i < 2 ? contents.weights : contents.optimiser)["gpt." + std::to_string(i)];
      if (!tensor.defined()) {
        tensor = at::empty({kValues}, at::TensorOptions(c10::Device(c10::kCUDA, 0)));
      }
      tensor.fill_(static_cast<double>(100 * number + i));
    }
  }

  TemporaryFolder folder_;
  std::unique_ptr<RoleDevice> device_;
};

TEST_P(CheckpointSaverCuda, ACheckpointHoldsItsOwnStepThoughTrainingGoesOn) {
  CheckpointStore store(folder_.path());
  CheckpointContents contents;
  step(contents, 0);
  const auto before = device_->memory().read().reserved;
  {
    CheckpointSaver saver(store, *device_, {{"decoder.x", at::ones({5})}}, {});
    for (std::int64_t number = 1; number <= 2; ++number) {
      step(contents, number * 10);
      saver.save(contents);
      for (std::int64_t later = 1; later < 8; ++later) step(contents, number * 10 + later);
    }
    ASSERT_TRUE(saver.finish());
    const auto taken = device_->memory().read().reserved - before;
    if (GetParam()) {
      EXPECT_EQ(taken, 0);
    } else {
      EXPECT_GE(taken, kTensors * kValues * 4);
    }
  }
  for (const std::int64_t number : {10, 20}) {
    const auto opened = open_checkpoint(store.at(std::to_string(number)), facts_of(ModelPart::Gpt));
    for (int i = 0; i < kTensors; ++i) {
      const auto& tensor =
          (i < 2 ? opened.weights : opened.optimiser).at("gpt." + std::to_string(i));
      EXPECT_EQ(tensor.min().item<float>(), static_cast<float>(100 * number + i));
      EXPECT_EQ(tensor.max().item<float>(), static_cast<float>(100 * number + i));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(WithAndWithoutACap, CheckpointSaverCuda, ::testing::Bool());

}  // namespace
}  // namespace myxtts::checkpoint_saver_cuda_test
