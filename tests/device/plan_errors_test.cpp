// SPDX-License-Identifier: Apache-2.0
//
// What the machine cannot fulfil and what contradicts itself: never another device in its place.
#include "device/plan_inputs.h"

namespace myxtts::test::plan_errors_test {
namespace {

const Flags kPair = {{"data.data_gpu", "0"}, {"data.model_gpu", "1"}};

TEST(PlanErrors, TwoRolesOnOneGpuNeedTwo) {
  EXPECT_EQ(refusal<DeviceError>(kPair, FakeGpus{}.l4()),
            "Insufficient GPUs for Multi-GPU Mode: Multi-GPU requires at least 2 GPUs, found 1: 0 "
            "(NVIDIA L4, 23,034 MB); leave out --data-gpu 0 --model-gpu 1 to use it alone, or give "
            "--split-gpu 0 instead to use it as two.");
  // What it says to type is not refused in its turn.
  EXPECT_EQ(plan({}, FakeGpus{}.l4()).mode, Mode::Single);
  EXPECT_EQ(plan({{"devices.split_gpu", "0"}}, FakeGpus{}.l4()).mode, Mode::Split);
}

TEST(PlanErrors, AGpuThatIsNotThereIsNamedWithThoseThatAre) {
  FakeGpus gpus;
  gpus.h200().l4();
  EXPECT_EQ(refusal<DeviceError>({{"data.data_gpu", "7"}, {"data.model_gpu", "0"}}, gpus),
            "Insufficient GPUs for Multi-GPU Mode: --data-gpu 7 is not there: this machine has 2 "
            "GPUs: 0 (NVIDIA H200, 143,771 MB), 1 (NVIDIA L4, 23,034 MB); give --data-gpu 0 "
            "--model-gpu 1.");
  EXPECT_EQ(refusal<DeviceError>({{"devices.split_gpu", "2:8"}}, gpus),
            "--split-gpu 2 is not there: this machine has 2 GPUs: 0 (NVIDIA H200, 143,771 MB), 1 "
            "(NVIDIA L4, 23,034 MB); give --split-gpu 0.");
}

// Every setting that cannot be meant without a GPU, and how it is typed.
const std::vector<std::pair<Flags, std::string>> kGpuSettings = {
    {kPair, "--data-gpu 0 --model-gpu 1"},
    {{{"parallel.gpus", "0"}}, "--gpus 0"},
    {{{"devices.split_gpu", "0:16"}}, "--split-gpu 0:16"},
    {{{"devices.mode", "single"}}, "--mode single"},
    {{{"devices.device", "cuda"}}, "--device cuda"},
    {{{"devices.transfer_path", "peer"}}, "--transfer-path peer"},
    {{{"devices.enable_memory_isolation", "true"}}, "--enable-memory-isolation"},
    {{{"devices.enable_memory_isolation", "true"}, {"devices.data_gpu_memory", "4096"}},
     "--enable-memory-isolation --data-gpu-memory 4096"},
    {{{"devices.enable_memory_isolation", "true"}, {"devices.model_gpu_memory", "4096"}},
     "--enable-memory-isolation --model-gpu-memory 4096"},
    {{{"data.data_gpu", "0"}, {"parallel.gpus", "1,2"}}, "--data-gpu 0 --gpus 1,2"}};

TEST(PlanErrors, GpuSettingsWithoutADriverNameTheSettingTheReasonAndTheRemedy) {
  FakeGpus none;
  none.machine.gpus = {.driver_fault = "libnvidia-ml.so.1: not found"};
  for (const auto& [flags, typed] : kGpuSettings) {
    EXPECT_EQ(refusal<DeviceError>(flags, none),
              typed +
                  " needs a GPU, but there is no NVIDIA driver (libnvidia-ml.so.1: not found). "
                  "Install NVIDIA's driver, version 580 or newer, or give --device cpu in place "
                  "of " +
                  typed + ".");
  }
  EXPECT_EQ(plan({}, none).mode, Mode::Cpu);  // nobody asked for a GPU
}

TEST(PlanErrors, GpuSettingsWithoutAGpuNameTheSetting) {
  for (const auto& [flags, typed] : kGpuSettings) {
    EXPECT_EQ(refusal<DeviceError>(flags, {}),
              typed +
                  " needs a GPU, but this machine has none. Use one that has a GPU, or give "
                  "--device cpu in place of " +
                  typed + ".");
  }
}

TEST(PlanErrors, GpuSettingsWithoutThePluginNameTheSettingAndTheRemedy) {
  const std::string fault = "the CUDA plugin is not built. Type: tools/build";
  for (const auto& [flags, typed] : kGpuSettings) {
    EXPECT_EQ(
        refusal<DeviceError>(flags, FakeGpus{}.l4().l4(), fault),
        typed + " needs a GPU, but " + fault + ", or give --device cpu in place of " + typed + ".");
  }
}

TEST(PlanErrors, AGpuThatIsThereAndCannotBeUsedIsNeverPassedOverInSilence) {
  EXPECT_EQ(refusal<DeviceError>({}, FakeGpus{}.l4(), "no plugin. Type: tools/build"),
            "This machine has 1 GPU: 0 (NVIDIA L4, 23,034 MB), which CUDA cannot use: no plugin. "
            "Type: tools/build, or give --device cpu.");
  EXPECT_EQ(plan({{"devices.device", "cpu"}}, FakeGpus{}.l4(), "no plugin").mode, Mode::Cpu);
}

TEST(PlanErrors, ADriverThatIsTooOldIsSaidWithTheVersionThatWorks) {
  FakeGpus gpus;
  gpus.l4();
  gpus.machine.gpus.driver_version = "550.54.15";
  const std::string message = refusal<DeviceError>({{"devices.device", "cuda"}}, gpus);
  EXPECT_NE(message.find("550.54.15 is too old"), std::string::npos) << message;
  EXPECT_NE(message.find("580"), std::string::npos) << message;
}

TEST(PlanErrors, GpusThatAreHiddenByTheEnvironmentAreSaid) {
  for (const char* hidden : {"", "-1"}) {
    FakeGpus gpus;
    gpus.l4();
    gpus.machine.gpus.visible_devices = hidden;
    const std::string message = refusal<DeviceError>({{"devices.device", "cuda"}}, gpus);
    EXPECT_NE(message.find(std::string("CUDA_VISIBLE_DEVICES=") + hidden + " hides them all"),
              std::string::npos)
        << message;
    const DevicePlan on_cpu = plan({}, gpus);
    EXPECT_EQ(on_cpu.mode, Mode::Cpu);
    EXPECT_NE(on_cpu.notes.front().find("hides every GPU"), std::string::npos);
  }
}

TEST(PlanErrors, ABrokenCardIsNotTaken) {
  FakeGpus gpus;
  gpus.l4().l4();
  gpus.machine.gpus.gpus[1].uuid.clear();
  gpus.machine.gpus.gpus[1].faults = {"nvmlDeviceGetUUID: Unknown Error"};
  const std::string message = refusal<DeviceError>(kPair, gpus);
  EXPECT_NE(message.find("GPU 1 (NVIDIA L4) does not answer"), std::string::npos) << message;
  EXPECT_NE(message.find("nvmlDeviceGetUUID: Unknown Error"), std::string::npos) << message;
  EXPECT_EQ(plan({}, gpus).mode, Mode::Single);  // the other one works
}

TEST(PlanErrors, ACardThatIsTooOldIsNotTaken) {
  const std::string message = refusal<DeviceError>({}, FakeGpus{}.add("Tesla P100", 16'280, 60));
  EXPECT_NE(message.find("compute capability 6.0"), std::string::npos) << message;
}

TEST(PlanErrors, SettingsThatContradictOneAnotherAreRefusedAlsoWhenAProgramMadeThem) {
  RunConfig config;
  config.data.data_gpu = 1;
  try {
    plan_devices(config, FakeGpus{}.l4().l4().machine, some_needs);
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_STREQ(error.what(),
                 "data.data_gpu is 1 but data.model_gpu is none; give both, as in --data-gpu 0 "
                 "--model-gpu 1, or neither.");
  }
  config.data.model_gpu = 1;
  EXPECT_THROW(plan_devices(config, FakeGpus{}.l4().l4().machine, some_needs), ConfigError);
}

TEST(PlanErrors, MeasuringTheModesIsRefusedRatherThanGuessed) {
  const std::string message = refusal<ConfigError>({{"devices.mode", "auto"}}, FakeGpus{}.l4());
  EXPECT_NE(message.find("--mode single"), std::string::npos) << message;
}

}  // namespace
}  // namespace myxtts::test::plan_errors_test
