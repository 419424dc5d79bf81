// SPDX-License-Identifier: Apache-2.0
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "adamw_arrays.h"
#include "device/cuda_plugin.h"
#include "device/role_device.h"
#include "kernels/adamw/adamw.h"

// AdamW's kernels on a GPU against those on the CPU.

namespace myxtts::test::adamw_cuda_test {
namespace {

constexpr std::int64_t kCount = 64 * kAdamWAlignment;
constexpr double kRate = 1e-2;

class AdamWCuda : public ::testing::Test {
 protected:
  void SetUp() override {
    if (cuda_plugin().backend == nullptr) {
      GTEST_SKIP() << "no CUDA device here: " << cuda_plugin().reason;
    }
    RolePlan plan;
    plan.gpu = PlannedGpu{};
    device_ = open_role_device(Role::Model, plan);
    scope_ = device_->enter(device_->stream());
  }

  void TearDown() override { scope_.reset(); }

  // Five updates on both devices.
  void expect_equal_updates(const AdamWFormats& formats, const AdamWRule& rule, double allowed) {
    AdamWTensors here(formats, kCount, c10::kCPU);
    AdamWTensors there(formats, kCount, c10::Device(c10::kCUDA, 0));
    const auto gradients = here.gradients.clone();
    const auto cpu = make_cpu_adamw(rule);
    const auto cuda = make_cuda_adamw(rule);
    for (int step = 1; step <= 5; ++step) {
      here.gradients.copy_(gradients * step);
      there.gradients.copy_(gradients * step);
      cpu->prepare({}, here.state_pointer(), step, kRate);
      cpu->update({}, here.arrays(), here.state_pointer());
      cuda->prepare(device_->stream(), there.state_pointer(), step, kRate);
      cuda->update(device_->stream(), there.arrays(), there.state_pointer());
    }
    EXPECT_LE((here.weights - there.weights.cpu()).abs().max().item<double>(), allowed);
    if (here.copy.defined()) {
      EXPECT_TRUE(at::equal(there.copy, there.weights.to(formats.copy)));
    }
    EXPECT_EQ(there.gradients.count_nonzero().item<std::int64_t>(), 0);
    const auto wanted = here.read_state().report;
    const auto found = there.read_state().report;
    EXPECT_NEAR(found.gradient_norm / wanted.gradient_norm, 1.0, 1e-5);
    EXPECT_EQ(found.skipped, 0);
    EXPECT_EQ(there.read_state().applied, 5);
  }

  std::unique_ptr<RoleDevice> device_;
  std::unique_ptr<RoleDevice::Scope> scope_;
};

TEST_F(AdamWCuda, EveryFormatGivesTheCpusWeights) {
  const std::vector<std::pair<at::ScalarType, at::ScalarType>> numbers = {
      {at::kFloat, at::kFloat},
      {at::kFloat, at::kBFloat16},
      {at::kFloat, at::kHalf},
      {at::kBFloat16, at::kBFloat16},
      {at::kHalf, at::kHalf}};
  for (const auto& [gradient, copy] : numbers) {
    for (const double clip : {0.0, 0.1}) {
      const AdamWRule rule = {.clip = clip};
      expect_equal_updates({Moments::Fp32, gradient, copy}, rule, 1e-6);
      // Rounding at random goes the other way where the last bit differs.
      expect_equal_updates({Moments::Bf16, gradient, copy}, rule, 1e-3);
      expect_equal_updates({Moments::EightBit, gradient, copy}, rule, 2e-2);
    }
  }
}

TEST_F(AdamWCuda, AStepThatIsNotFiniteChangesNoByte) {
  for (const Moments moments : {Moments::Fp32, Moments::Bf16, Moments::EightBit}) {
    AdamWTensors tensors({moments, at::kBFloat16, at::kBFloat16}, kCount,
                         c10::Device(c10::kCUDA, 0));
    const auto adamw = make_cuda_adamw({});
    const auto gradients = tensors.gradients.clone();
    const auto update = [&](int step) {
      adamw->prepare(device_->stream(), tensors.state_pointer(), step, kRate);
      adamw->update(device_->stream(), tensors.arrays(), tensors.state_pointer());
    };
    update(1);
    const auto weights = tensors.weights.clone();
    const auto means = tensors.means.clone();
    tensors.gradients.copy_(gradients);
    tensors.gradients[kCount / 2] = std::numeric_limits<float>::quiet_NaN();
    update(2);
    EXPECT_TRUE(at::equal(tensors.weights, weights));
    EXPECT_TRUE(at::equal(tensors.means, means));
    EXPECT_EQ(tensors.read_state().report.skipped, 1);
    EXPECT_EQ(tensors.gradients.count_nonzero().item<std::int64_t>(), 0);
  }
}

TEST_F(AdamWCuda, PartsWhoseLastBlockIsNotFullEqualTheCpus) {
  const std::int64_t odd = 3 * kAdamWAlignment - 78;
  const auto updated = [&](c10::Device device, const AdamW& adamw, const Stream& stream) {
    AdamWTensors tensors({Moments::Fp32, at::kBFloat16, at::kBFloat16}, kCount, device);
    const auto own = tensors.gradients.narrow(0, 0, odd).clone();
    adamw.prepare(stream, tensors.state_pointer(), 1, kRate);
    adamw.begin(stream, tensors.state_pointer());
    adamw.apply_part(stream, tensors.arrays(),
                     {.first = kAdamWAlignment, .count = odd, .gradients = own.const_data_ptr()},
                     tensors.state_pointer());
    adamw.finish(stream, tensors.arrays(), tensors.state_pointer());
    return std::pair(tensors.weights.cpu(), tensors.read_state().report.gradient_norm);
  };
  const auto [wanted, wanted_norm] = updated(c10::kCPU, *make_cpu_adamw({}), {});
  const auto [found, found_norm] =
      updated(c10::Device(c10::kCUDA, 0), *make_cuda_adamw({}), device_->stream());
  EXPECT_LE((wanted - found).abs().max().item<double>(), 1e-6);
  EXPECT_NEAR(found_norm / wanted_norm, 1.0, 1e-5);
}

TEST_F(AdamWCuda, PartsOfTwoRanksAreTheWholeUpdate) {
  const c10::Device gpu(c10::kCUDA, 0);
  for (const Moments moments : {Moments::Fp32, Moments::Bf16, Moments::EightBit}) {
    const AdamWFormats formats{moments, at::kBFloat16, at::kBFloat16};
    AdamWTensors whole(formats, kCount, gpu);
    AdamWTensors parts(formats, kCount, gpu);
    const auto gradient = whole.gradients.clone();
    const auto adamw = make_cuda_adamw({.clip = 1e-3});
    for (int step = 1; step <= 3; ++step) {
      whole.gradients.copy_(gradient * step);
      adamw->prepare(device_->stream(), whole.state_pointer(), step, kRate);
      adamw->update(device_->stream(), whole.arrays(), whole.state_pointer());
      const auto state = parts.state.clone();
      for (const std::int64_t first : {std::int64_t{0}, 3 * kAdamWAlignment}) {
        parts.state.copy_(state);
        parts.gradients.copy_(gradient * step);
        AdamWArrays arrays = parts.arrays();
        arrays.own_first = first;
        arrays.own_count = first == 0 ? 3 * kAdamWAlignment : kCount - 3 * kAdamWAlignment;
        adamw->prepare(device_->stream(), parts.state_pointer(), step, kRate);
        adamw->update(device_->stream(), arrays, parts.state_pointer());
        EXPECT_EQ(parts.gradients.count_nonzero().item<std::int64_t>(), 0);
      }
    }
    EXPECT_TRUE(at::equal(whole.weights, parts.weights));
    EXPECT_TRUE(at::equal(whole.copy, parts.copy));
    EXPECT_TRUE(at::equal(whole.means, parts.means));
    EXPECT_EQ(whole.read_state().report.gradient_norm, parts.read_state().report.gradient_norm);
  }
}

// A rank of a small model may have none.
TEST_F(AdamWCuda, AnEmptyPartChangesNoWeightAndClearsTheGradients) {
  AdamWTensors tensors({}, kCount, c10::Device(c10::kCUDA, 0));
  const auto weights = tensors.weights.clone();
  AdamWArrays arrays = tensors.arrays();
  arrays.own_count = 0;
  const auto adamw = make_cuda_adamw({});
  adamw->prepare(device_->stream(), tensors.state_pointer(), 1, kRate);
  adamw->update(device_->stream(), arrays, tensors.state_pointer());
  EXPECT_TRUE(at::equal(tensors.weights, weights));
  EXPECT_EQ(tensors.gradients.count_nonzero().item<std::int64_t>(), 0);
  EXPECT_GT(tensors.read_state().report.gradient_norm, 0.0);
}

TEST_F(AdamWCuda, GradientsAreAddedUpInFp32) {
  AdamWTensors tensors({Moments::Fp32, at::kBFloat16, at::kBFloat16}, kCount,
                       c10::Device(c10::kCUDA, 0));
  const auto gradient = tensors.gradients.to(at::kFloat);
  const auto sums = gradient.clone();
  make_cuda_adamw({})->add_up(device_->stream(), tensors.arrays(), sums.mutable_data_ptr<float>());
  EXPECT_TRUE(at::equal(sums, gradient * 2));
  EXPECT_EQ(tensors.gradients.count_nonzero().item<std::int64_t>(), 0);
}

}  // namespace
}  // namespace myxtts::test::adamw_cuda_test
