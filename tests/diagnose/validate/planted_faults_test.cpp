// SPDX-License-Identifier: Apache-2.0
//
// A sound machine passes every check of validate; one that is broken in one place fails the check
// that is there for it, and that one alone.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "diagnose/validate/broken_parts.h"
#include "diagnose/validate/validation.h"
#include "diagnose/validate/validation_report.h"
#include "support/training_batches.h"

namespace myxtts::test::planted_faults_test {
namespace {

using Broken = std::function<void(BrokenDevice& device)>;

ValidationParts sound_parts() {
  ValidationParts parts;
  parts.plan.mode = Mode::Cpu;
  parts.plan.data.memory_cap_bytes = std::int64_t{256} << 20;
  parts.plan.model.memory_cap_bytes = std::int64_t{1024} << 20;
  parts.model.gpt = small_gpt();
  for (const char* id : {"libtorch", "disk", "sound"}) {
    parts.checklist.push_back(
        {.id = id, .name = id, .found = "here", .needed_by = "train", .cpu_run_needs_it = true});
  }
  parts.largest_send = std::size_t{1} << 20;
  parts.pipeline = [] {
    TrialReading trial;
    trial.wall_seconds = 1.0;
    trial.batches = kPipelineSteps;
    trial.clips = 80;
    trial.pipeline.readiness = {.steps = 19, .ready = 19};
    trial.pipeline.data_device.busy_seconds = 0.6;
    trial.pipeline.model_device.busy_seconds = 0.95;
    return trial;
  };
  return parts;
}

// The devices of one role with something broken.
void break_device(ValidationParts& parts, Role broken, const Broken& how) {
  parts.open = [broken, how](Role role, const RolePlan& plan) -> std::unique_ptr<RoleDevice> {
    auto sound = open_role_device(role, plan);
    if (role != broken) return sound;
    auto device = std::make_unique<BrokenDevice>(std::move(sound));
    how(*device);
    return device;
  };
}

std::string failures(const ValidationParts& parts) {
  std::string ids;
  const auto results = run_steps(validation_steps(parts));
  for (const StepResult& step : results) {
    for (const Check& check : step.checks) {
      if (check.verdict != Verdict::Fail) continue;
      EXPECT_FALSE(check.found.empty()) << check.id;
      EXPECT_FALSE(check.remedy.empty()) << check.id;
      ids += (ids.empty() ? "" : " ") + check.id;
    }
  }
  return ids;
}

TEST(PlantedFaults, ASoundMachinePasses) {
  ValidationParts parts = sound_parts();
  parts.pipeline = [] { return busy_pipeline({}); };
  const auto results = run_steps(validation_steps(parts));
  ASSERT_EQ(results.size(), 5U);
  EXPECT_TRUE(all_passed(results)) << validation_text(parts.plan, results);
}

TEST(PlantedFaults, AMissingLibraryIsAMissingPrerequisite) {
  ValidationParts parts = sound_parts();
  parts.checklist[2].verdict = Verdict::Fail;
  parts.checklist[2].found = "libsndfile.so.1 cannot be opened";
  parts.checklist[2].remedy = "Type: apt install libsndfile1";
  EXPECT_EQ(failures(parts), "prerequisites.sound");
}

// One that the plan takes; of another one it is doctor's matter.
TEST(PlantedFaults, AGpuThatComputesWronglyIsAMissingPrerequisite) {
  ValidationParts parts = sound_parts();
  for (const char* id : {"gpu0", "gpu3"}) {
    parts.checklist.push_back({.id = id,
                               .name = "GPU",
                               .verdict = Verdict::Fail,
                               .found = "it computes wrongly",
                               .remedy = "Take another"});
  }
  parts.plan.model.gpu = PlannedGpu{.physical = 3, .listed = 1};
  const auto steps = validation_steps(parts);
  std::string failed;
  for (const Check& check : steps.front().checks()) {
    if (check.verdict == Verdict::Fail) failed += check.id + " " + check.name;
  }
  EXPECT_EQ(failed, "prerequisites.gpu3 GPU 1");
}

TEST(PlantedFaults, ADeviceThatShouldNotBeVisibleIsSeen) {
  ValidationParts parts = sound_parts();
  parts.visible_devices = "GPU-7";
  EXPECT_EQ(failures(parts), "placement.visible");
}

TEST(PlantedFaults, CudaOpenedForARunOnTheCpuIsSeen) {
  ValidationParts parts = sound_parts();
  parts.cuda_is_open = true;
  EXPECT_EQ(failures(parts), "placement.visible");
}

TEST(PlantedFaults, ACapThatIsNotKeptIsFound) {
  for (const Role role : {Role::Data, Role::Model}) {
    ValidationParts parts = sound_parts();
    parts.open = [role](Role opened, RolePlan plan) {
      if (opened == role) plan.memory_cap_bytes.reset();
      return open_role_device(opened, plan);
    };
    EXPECT_EQ(failures(parts), "placement." + name_of(role) + "_cap");
  }
}

TEST(PlantedFaults, ACapThatIsTooSmallForAnythingIsFound) {
  const Check result =
      check_cap(Role::Model, kTrialCap, /*planned=*/true, [](std::int64_t) { return false; });
  EXPECT_EQ(result.verdict, Verdict::Fail);
  EXPECT_NE(result.remedy.find("--model-gpu-memory"), std::string::npos) << result.remedy;
}

TEST(PlantedFaults, AnotherDeviceThanThePlannedOneIsFound) {
  const auto cpu = open_role_device(Role::Data, {});
  RolePlan planned;
  planned.gpu = PlannedGpu{.logical = 0, .name = "NVIDIA L4"};
  EXPECT_EQ(check_device(Role::Data, planned, *cpu).verdict, Verdict::Fail);
  EXPECT_EQ(check_device(Role::Data, {}, *cpu).verdict, Verdict::Pass);
}

// A tensor that the other role took: to LibTorch it is on the CPU like all the others.
at::Tensor taken_by(RoleDevice& device, at::IntArrayRef shape) {
  const auto scope = device.enter(device.stream());
  return at::zeros(shape);
}

TEST(PlantedFaults, OneParameterInTheOtherRolesMemoryIsFoundByName) {
  ValidationParts parts = sound_parts();
  const auto data = open_role_device(Role::Data, {});
  parts.before_model = [&data](ModelTrial& trial) {
    trial.kept = [&trial, &data] {
      NamedTensors kept = trial.training.kept();
      auto& stray = kept.at("weight.gpt.final_norm.bias");
      stray = taken_by(*data, stray.sizes());
      return kept;
    };
  };
  const auto checks = validation_steps(parts);
  checks[1].checks();  // opens the devices
  const Check parameters = checks[2].checks().front();
  EXPECT_EQ(parameters.id, "model.parameters");
  EXPECT_EQ(parameters.verdict, Verdict::Fail);
  EXPECT_NE(parameters.found.find("weight.gpt.final_norm.bias (in the memory of another role)"),
            std::string::npos)
      << parameters.found;
}

TEST(PlantedFaults, OneParameterInTheOtherRolesMemoryFailsThatCheckAlone) {
  ValidationParts parts = sound_parts();
  const auto data = open_role_device(Role::Data, {});
  parts.before_model = [&data](ModelTrial& trial) {
    trial.kept = [&trial, &data] {
      NamedTensors kept = trial.training.kept();
      auto& stray = kept.at("mean.gpt.final_norm.bias");
      stray = taken_by(*data, stray.sizes());
      return kept;
    };
  };
  EXPECT_EQ(failures(parts), "model.parameters");
}

TEST(PlantedFaults, OneActivationInTheOtherRolesMemoryIsFound) {
  ValidationParts parts = sound_parts();
  const auto data = open_role_device(Role::Data, {});
  parts.before_model = [&data](ModelTrial& trial) {
    trial.pass = [&trial, &data] {
      trial.training.accumulate(trial.batch);
      taken_by(*data, {8}).add(1);
    };
  };
  EXPECT_EQ(failures(parts), "model.activations");
}

TEST(PlantedFaults, OneGradientInTheOtherRolesMemoryIsFound) {
  ValidationParts parts = sound_parts();
  const auto data = open_role_device(Role::Data, {});
  parts.before_model = [&data](ModelTrial& trial) {
    trial.kept = [&trial, &data] {
      NamedTensors kept = trial.training.kept();
      auto& stray = kept.at("gradient.gpt.text_head.bias");
      stray = taken_by(*data, stray.sizes());
      return kept;
    };
  };
  EXPECT_EQ(failures(parts), "model.gradients");
}

TEST(PlantedFaults, AGradientThatIsNotFiniteIsFound) {
  ValidationParts parts = sound_parts();
  parts.before_model = [](ModelTrial& trial) {
    trial.kept = [&trial] {
      NamedTensors kept = trial.training.kept();
      auto& wrong = kept.at("gradient.gpt.text_head.bias");
      wrong = at::full_like(wrong, std::numeric_limits<float>::infinity());
      return kept;
    };
  };
  EXPECT_EQ(failures(parts), "model.gradients");
}

TEST(PlantedFaults, AStepThatIsNotFiniteOrMovesNothingIsFound) {
  ValidationParts parts = sound_parts();
  parts.before_model = [](ModelTrial& trial) {
    trial.update = [&trial] {
      trial.training.update(1e-4);
      StepNumbers numbers = trial.training.finish_numbers().back();
      numbers.loss = std::numeric_limits<double>::quiet_NaN();
      return numbers;
    };
  };
  EXPECT_EQ(failures(parts), "model.step");
  parts.before_model = [](ModelTrial& trial) {
    trial.update = [&trial] {
      trial.training.update(0.0);
      return trial.training.finish_numbers().back();
    };
  };
  EXPECT_EQ(failures(parts), "model.step");
}

TEST(PlantedFaults, OneFlippedBitIsFoundInTheDirectionItHappensIn) {
  const Broken flips = [](BrokenDevice& device) {
    device.after_copy = [](unsigned char* to, std::size_t bytes) {
      if (bytes == 4103) to[4000] ^= 0x10U;
    };
  };
  ValidationParts parts = sound_parts();
  break_device(parts, Role::Model, flips);
  EXPECT_EQ(failures(parts), "transfer.forth");
  break_device(parts, Role::Data, flips);
  EXPECT_EQ(failures(parts), "transfer.back");
}

TEST(PlantedFaults, ATransferThatLosesItsEndIsFound) {
  ValidationParts parts = sound_parts();
  break_device(parts, Role::Model, [](BrokenDevice& device) {
    device.after_copy = [](unsigned char* to, std::size_t bytes) {
      if (bytes >= (std::size_t{1} << 20))
        to[bytes - 1] = static_cast<unsigned char>(~to[bytes - 1]);
    };
  });
  EXPECT_EQ(failures(parts), "transfer.forth");
}

TEST(PlantedFaults, ASlowTransferIsFound) {
  ValidationParts parts = sound_parts();
  break_device(parts, Role::Model, [](BrokenDevice& device) {
    device.after_copy = [](unsigned char*, std::size_t bytes) {
      if (bytes >= (std::size_t{1} << 20)) busy_for(std::chrono::milliseconds(30));
    };
  });
  EXPECT_EQ(failures(parts), "transfer.bandwidth");
}

TEST(PlantedFaults, ACopyThatTakesAnotherWayThanThePlannedOneIsFound) {
  const CopyWays by_host = {{0, -1}, {-1, 1}, {1, -1}, {-1, 0}};
  const CopyWays directly = {{0, 1}, {1, 0}};
  EXPECT_EQ(check_path(BatchPath::P2p, directly, 0, 1).verdict, Verdict::Pass);
  EXPECT_EQ(check_path(BatchPath::P2p, by_host, 0, 1).verdict, Verdict::Fail);
  EXPECT_EQ(check_path(BatchPath::PinnedHost, by_host, 0, 1).verdict, Verdict::Pass);
  EXPECT_EQ(check_path(BatchPath::PinnedHost, directly, 0, 1).verdict, Verdict::Fail);
}

TEST(PlantedFaults, StagesInSeriesAreFound) {
  ValidationParts parts = sound_parts();
  parts.pipeline = [] {
    return busy_pipeline({.features = std::chrono::milliseconds(30),
                          .step = std::chrono::milliseconds(40),
                          .in_series = true});
  };
  EXPECT_EQ(failures(parts), "pipeline.overlap");
}

TEST(PlantedFaults, BatchesThatDoNotComeAreFound) {
  ValidationParts parts = sound_parts();
  parts.pipeline = [] { return busy_pipeline({.batches = 12}); };
  EXPECT_EQ(failures(parts), "pipeline.batches");
}

TEST(PlantedFaults, AModelThatWaitsWhileNobodyWorksIsFound) {
  ValidationParts parts = sound_parts();
  parts.pipeline = [] { return busy_pipeline({.idle = std::chrono::milliseconds(60)}); };
  EXPECT_EQ(failures(parts), "pipeline.readiness");
}

TEST(PlantedFaults, AModelThatWaitsForADataDeviceAtWorkIsNoFault) {
  const auto checks = check_pipeline(busy_pipeline({.features = std::chrono::milliseconds(32)}));
  EXPECT_TRUE(all_passed(checks));
  EXPECT_NE(checks[1].remedy.find("myxtts profile"), std::string::npos);
}

TEST(PlantedFaults, AStepThatThrowsFailsAndWhatStandsOnItIsSkipped) {
  ValidationParts parts = sound_parts();
  parts.before_model = [](ModelTrial&) { throw DeviceError("GPU 0 is full."); };
  const auto results = run_steps(validation_steps(parts));
  EXPECT_EQ(results[2].checks.front().verdict, Verdict::Fail);
  EXPECT_EQ(results[2].checks.front().found, "GPU 0 is full.");
  EXPECT_EQ(results[3].checks.front().verdict, Verdict::Skip);
  EXPECT_EQ(results[4].checks.front().verdict, Verdict::Skip);
  EXPECT_FALSE(all_passed(results));
}

}  // namespace
}  // namespace myxtts::test::planted_faults_test
