// SPDX-License-Identifier: Apache-2.0
//
// The faults of planted_faults_test.cpp that look otherwise on a GPU: both roles on one card, whose
// tensors all say cuda:0.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "device/cuda_plugin.h"
#include "diagnose/validate/broken_parts.h"
#include "diagnose/validate/validation_report.h"

namespace myxtts::test::planted_faults_cuda_test {
namespace {

class PlantedFaultsCuda : public ::testing::Test {
 protected:
  void SetUp() override {
    if (cuda_plugin().backend == nullptr) {
      GTEST_SKIP() << "no CUDA device here: " << cuda_plugin().reason;
    }
    const CudaDevice gpu = require_cuda().devices().at(0);
    const PlannedGpu planned{
        .name = gpu.name, .pci_bus_id = gpu.pci_bus_id, .memory_bytes = gpu.memory_bytes};
    parts_.plan.mode = Mode::Single;
    parts_.plan.data.gpu = planned;
    parts_.plan.model.gpu = planned;
    parts_.plan.path = BatchPath::SameDevice;
    parts_.plan.precision = Precision::Bf16;
    parts_.model = model_preset("tiny");
    parts_.visible_devices = parts_.plan.visible_uuids().front();
    parts_.shown = {gpu.pci_bus_id};
    parts_.pipeline = [] { return busy_pipeline({}); };
  }

  std::string failures() {
    std::string ids;
    const auto results = run_steps(validation_steps(parts_));
    for (const StepResult& step : results) {
      for (const Check& check : step.checks) {
        if (check.verdict == Verdict::Fail) ids += (ids.empty() ? "" : " ") + check.id;
      }
    }
    last_ = validation_text(parts_.plan, results);
    return ids;
  }

  static at::Tensor taken_by(RoleDevice& device, at::IntArrayRef shape) {
    const auto scope = device.enter(device.stream());
    return at::zeros(shape, at::TensorOptions(c10::Device(c10::kCUDA, 0)));
  }

  ValidationParts parts_;
  std::string last_;
};

TEST_F(PlantedFaultsCuda, ASoundGpuPassesOnEitherPath) {
  EXPECT_EQ(failures(), "") << last_;
  parts_.plan.path = BatchPath::PinnedHost;
  EXPECT_EQ(failures(), "") << last_;
}

TEST_F(PlantedFaultsCuda, OneParameterInTheOtherRolesMemoryOfTheSameCardIsFound) {
  const auto data = open_role_device(Role::Data, parts_.plan.data);
  parts_.before_model = [&data](ModelTrial& trial) {
    trial.kept = [&trial, &data] {
      NamedTensors kept = trial.training.kept();
      auto& stray = kept.at("copy.gpt.final_norm.bias");
      stray = taken_by(*data, stray.sizes());
      return kept;
    };
  };
  EXPECT_EQ(failures(), "model.parameters") << last_;
}

TEST_F(PlantedFaultsCuda, AnActivationOnTheHostIsFound) {
  parts_.before_model = [](ModelTrial& trial) {
    trial.pass = [&trial] {
      trial.training.accumulate(trial.batch);
      at::ones({8}).add(1);
    };
  };
  EXPECT_EQ(failures(), "model.activations") << last_;
}

TEST_F(PlantedFaultsCuda, ACapThatIsNotKeptIsFound) {
  parts_.plan.model.memory_cap_bytes = std::int64_t{2} << 30;
  parts_.open = [](Role role, RolePlan plan) {
    if (role == Role::Model) plan.memory_cap_bytes.reset();
    return open_role_device(role, plan);
  };
  EXPECT_EQ(failures(), "placement.model_cap") << last_;
}

// What arrives is written over while the events are kept.
TEST_F(PlantedFaultsCuda, OneByteThatArrivesChangedIsFound) {
  parts_.open = [](Role role, const RolePlan& plan) -> std::unique_ptr<RoleDevice> {
    auto device = std::make_unique<BrokenDevice>(open_role_device(role, plan));
    if (role == Role::Data) return device;
    const auto zeros = std::make_shared<at::Tensor>(taken_by(*device, {16}));
    device->on_queued_copy = [zeros, raw = device.get()](const Stream& stream, DeviceBytes to,
                                                         std::size_t bytes) {
      if (bytes != 4103) return;
      to.data = static_cast<char*>(to.data) + 100;
      raw->copy(stream, to, {zeros->mutable_data_ptr(), 0}, 2);
    };
    return device;
  };
  EXPECT_EQ(failures(), "transfer.forth") << last_;
}

}  // namespace
}  // namespace myxtts::test::planted_faults_cuda_test
