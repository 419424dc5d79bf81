// SPDX-License-Identifier: Apache-2.0
#include "device/plan/plan_devices.h"

#include "device/plan_inputs.h"

namespace myxtts::test::plan_devices_test {
namespace {

const Flags kPair = {{"data.data_gpu", "0"}, {"data.model_gpu", "1"}};

TEST(PlanDevices, WithoutAGpuTheCpuHasBothRolesAndTheCoresAreShared) {
  const DevicePlan on_cpu = plan({}, {.machine = {.cpu = {.logical_cores = 16},
                                                  .memory = {.available_bytes = 60'000'000'000},
                                                  .gpus = {.driver_fault = "no library"}}});
  EXPECT_EQ(on_cpu.mode, Mode::Cpu);
  EXPECT_FALSE(on_cpu.data.gpu || on_cpu.model.gpu);
  EXPECT_EQ(on_cpu.data.threads, 4);
  EXPECT_EQ(on_cpu.model.threads, 12);
  EXPECT_EQ(on_cpu.path, BatchPath::PlainMemory);
  EXPECT_TRUE(on_cpu.visible_uuids().empty());
  ASSERT_FALSE(on_cpu.notes.empty());
  EXPECT_EQ(on_cpu.notes.front(), "The CPU is used: there is no NVIDIA driver.");
}

TEST(PlanDevices, ThreadsThatWereGivenAreKeptAndTooManyAreSaid) {
  const DevicePlan given = plan({{"devices.device", "cpu"}, {"devices.model_threads", "3"}}, {});
  EXPECT_EQ(given.model.threads, 3);
  EXPECT_TRUE(given.warnings.empty());
  const DevicePlan many = plan(
      {{"devices.device", "cpu"}, {"devices.data_threads", "9"}, {"devices.model_threads", "8"}},
      {});
  ASSERT_EQ(many.warnings.size(), 1u);
  EXPECT_NE(many.warnings[0].find("16 cores"), std::string::npos) << many.warnings[0];
  const std::string message =
      refusal<ConfigError>({{"devices.model_threads", "3"}}, FakeGpus{}.l4());
  EXPECT_NE(message.find("--model-threads 3 is for runs on the CPU"), std::string::npos) << message;
}

TEST(PlanDevices, OneGpuIsUsedAloneWithDataWorkGivingWay) {
  const DevicePlan single = plan({}, FakeGpus{}.l4());
  EXPECT_EQ(single.mode, Mode::Single);
  EXPECT_EQ(single.data.gpu, single.model.gpu);
  EXPECT_EQ(single.data.priority, StreamPriority::Low);
  EXPECT_EQ(single.model.priority, StreamPriority::High);
  EXPECT_EQ(single.path, BatchPath::SameDevice);
  EXPECT_EQ(single.ring_slots, 3);
  EXPECT_EQ(single.visible_uuids(), std::vector<std::string>{"GPU-0000-fake"});
}

TEST(PlanDevices, TheOnlyGpuOfAListIsUsedAlone) {
  FakeGpus gpus;
  gpus.l4().l4().l4();
  const DevicePlan second = plan({{"parallel.gpus", "1"}}, gpus);
  EXPECT_EQ(second.mode, Mode::Single);
  EXPECT_EQ(second.visible_uuids(), std::vector<std::string>{"GPU-1000-fake"});
  EXPECT_EQ(second.model.gpu->listed, 1);
  EXPECT_EQ(second.model.gpu->logical, 0);
  for (const std::string& note : second.notes) {
    EXPECT_EQ(note.find("stay untouched"), std::string::npos) << "it was asked for: " << note;
  }
  EXPECT_NE(refusal<ConfigError>({{"parallel.gpus", "0,1"}}, gpus).find("is for myxtts train"),
            std::string::npos);
  EXPECT_NE(refusal<DeviceError>({{"parallel.gpus", "3"}}, gpus).find("--gpus 3 is not there"),
            std::string::npos);
}

TEST(PlanDevices, BothTransferPathsCanBeForcedOnOneCard) {
  const auto path = [](const char* wanted) {
    return plan({{"devices.transfer_path", wanted}}, FakeGpus{}.l4()).path;
  };
  EXPECT_EQ(path("peer"), BatchPath::P2p);
  EXPECT_EQ(path("host"), BatchPath::PinnedHost);
  EXPECT_EQ(path("auto"), BatchPath::SameDevice);
}

TEST(PlanDevices, AnyTwoGpusInAnyOrderGetTheirRolesAndNoOtherIsVisible) {
  FakeGpus gpus;
  gpus.l4().l4().l4().l4();
  const DevicePlan dual = plan({{"data.data_gpu", "3"}, {"data.model_gpu", "2"}}, gpus);
  EXPECT_EQ(dual.mode, Mode::Dual);
  EXPECT_EQ(dual.data.gpu->physical, 3);
  EXPECT_EQ(dual.data.gpu->logical, 0);
  EXPECT_EQ(dual.model.gpu->physical, 2);
  EXPECT_EQ(dual.model.gpu->logical, 1);
  EXPECT_EQ(dual.visible_uuids(), (std::vector<std::string>{"GPU-3000-fake", "GPU-2000-fake"}));
  EXPECT_EQ(dual.path, BatchPath::P2p);
  EXPECT_TRUE(dual.warnings.empty()) << dual.warnings.front();
}

TEST(PlanDevices, WhereDevicesAreVisibleByAListNumbersCountInThatList) {
  FakeGpus gpus;
  gpus.l4().l4().l4().l4();
  gpus.machine.gpus.visible_devices = "3,GPU-1000";
  const DevicePlan dual = plan(kPair, gpus);
  EXPECT_EQ(dual.data.gpu->physical, 3);
  EXPECT_EQ(dual.data.gpu->listed, 0);
  EXPECT_EQ(dual.model.gpu->physical, 1);
  EXPECT_EQ(dual.model.gpu->listed, 1);
  const std::string message =
      refusal<DeviceError>({{"data.data_gpu", "0"}, {"data.model_gpu", "3"}}, gpus);
  EXPECT_EQ(message,
            "Insufficient GPUs for Multi-GPU Mode: --model-gpu 3 is not there: "
            "CUDA_VISIBLE_DEVICES shows 2 GPUs: 0 (NVIDIA L4, 23,034 MB, nvidia-smi's 3), 1 "
            "(NVIDIA L4, 23,034 MB); give --data-gpu 0 --model-gpu 1.");
}

TEST(PlanDevices, CardsWithoutPeerAccessTakeTheWayThroughHostMemoryAndSaySo) {
  FakeGpus gpus;
  gpus.l4().l4();
  gpus.machine.gpus.links[0].p2p_access = false;
  const DevicePlan dual = plan(kPair, gpus);
  EXPECT_EQ(dual.path, BatchPath::PinnedHost);
  EXPECT_EQ(dual.notes.front(),
            "Batches go through host memory: GPU 0 (NVIDIA L4) and GPU 1 (NVIDIA L4) have no peer "
            "access.");
  Flags forced = kPair;
  forced.emplace_back("devices.transfer_path", "peer");
  EXPECT_EQ(refusal<DeviceError>(forced, gpus),
            "--transfer-path peer needs peer access, which GPU 0 (NVIDIA L4) and GPU 1 (NVIDIA L4) "
            "do not have; give --transfer-path host.");
  gpus.machine.gpus.links[0].p2p_access.reset();
  EXPECT_EQ(plan(kPair, gpus).path, BatchPath::PinnedHost);
  EXPECT_EQ(plan(forced, gpus).path, BatchPath::P2p);  // CUDA itself will know
}

TEST(PlanDevices, CardsThatAreFarApartAreAWarning) {
  for (const auto& [path, warns] : {std::pair(GpuPath::NvLink, false),
                                    {GpuPath::Pix, false},
                                    {GpuPath::Phb, false},
                                    {GpuPath::Node, true},
                                    {GpuPath::Sys, true}}) {
    FakeGpus gpus;
    gpus.l4().l4();
    gpus.machine.gpus.links[0].path = path;
    const DevicePlan dual = plan(kPair, gpus);
    EXPECT_EQ(dual.warnings.size(), warns ? 1u : 0u) << short_name(gpus.machine.gpus.links[0]);
    if (warns) {
      EXPECT_NE(dual.warnings[0].find("far apart"), std::string::npos);
    }
  }
}

TEST(PlanDevices, TheWeakerCardWithTheModelIsAWarningThatSaysWhatToType) {
  FakeGpus gpus;
  gpus.h200().l4();
  const DevicePlan wrong = plan(kPair, gpus);
  ASSERT_EQ(wrong.warnings.size(), 1u);
  EXPECT_EQ(wrong.warnings[0],
            "GPU 1 (NVIDIA L4) with 23,034 MB trains, the weaker of the two; GPU 0 (NVIDIA H200) "
            "with 143,771 MB only prepares data. --data-gpu 1 --model-gpu 0 is probably faster.");
  EXPECT_TRUE(plan({{"data.data_gpu", "1"}, {"data.model_gpu", "0"}}, gpus).warnings.empty());
  FakeGpus older;  // the same memory, an older chip
  older.add("new", 24'000, 89).add("old", 24'050, 80);
  EXPECT_EQ(plan(kPair, older).warnings.size(), 1u);
}

TEST(PlanDevices, ASplitGivesTheDataRoleItsMultiprocessors) {
  const DevicePlan split = plan({{"devices.split_gpu", "1:16"}}, FakeGpus{}.l4().h200());
  EXPECT_EQ(split.mode, Mode::Split);
  EXPECT_EQ(split.data.gpu->physical, 1);
  EXPECT_EQ(split.model.gpu->physical, 1);
  EXPECT_EQ(split.data.multiprocessors, 16);
  EXPECT_FALSE(split.model.multiprocessors);
}

std::vector<CudaDevice> shown(const DevicePlan& plan, int multiprocessors) {
  std::vector<CudaDevice> devices;
  for (const auto& gpu : {plan.data.gpu, plan.model.gpu}) {
    if (gpu->logical != static_cast<int>(devices.size())) continue;
    devices.push_back({.index = gpu->logical,
                       .pci_bus_id = gpu->pci_bus_id.substr(4),
                       .multiprocessors = multiprocessors});
  }
  return devices;
}

TEST(PlanDevices, ASplitOfMoreMultiprocessorsThanThereAreIsAnError) {
  const DevicePlan split = plan({{"devices.split_gpu", "0:133"}}, FakeGpus{}.h200());
  try {
    with_cuda_facts(split, shown(split, 132));
    FAIL();
  } catch (const DeviceError& error) {
    EXPECT_STREQ(error.what(),
                 "--split-gpu 0:133 asks for 133 multiprocessors, but GPU 0 (NVIDIA H200) has 132; "
                 "give at most 132, as in --split-gpu 0:64.");
  }
  EXPECT_EQ(with_cuda_facts(split, shown(split, 133)).data.multiprocessors, 133);
}

TEST(PlanDevices, ASplitWithoutANumberTakesHalfInStepsOfEight) {
  const DevicePlan split = plan({{"devices.split_gpu", "0"}}, FakeGpus{}.h200());
  EXPECT_EQ(with_cuda_facts(split, shown(split, 132)).data.multiprocessors, 64);
  EXPECT_EQ(with_cuda_facts(split, shown(split, 58)).data.multiprocessors, 24);
  EXPECT_EQ(with_cuda_facts(split, shown(split, 6)).data.multiprocessors, 6);
}

TEST(PlanDevices, ASplitOfTooFewMultiprocessorsIsSaidWithTheNumberToType) {
  const auto warnings = [](const std::string& asked) {
    const DevicePlan split = plan({{"devices.split_gpu", asked}}, FakeGpus{}.h200());
    return with_cuda_facts(split, shown(split, 132)).warnings;
  };
  EXPECT_TRUE(warnings("0").empty());
  EXPECT_TRUE(warnings("0:48").empty());
  ASSERT_EQ(warnings("0:40").size(), 1u);
  EXPECT_EQ(warnings("0:40").front(),
            "40 of 132 multiprocessors are few for data work, which gets them only while training "
            "leaves them: clips whose features are not cached may be waited for. Give --split-gpu "
            "0:64, or cache them with myxtts prepare --codes.");
}

TEST(PlanDevices, ACudaThatShowsOtherCardsThanThePlannedOnesIsAnError) {
  FakeGpus gpus;
  gpus.l4().l4();
  const DevicePlan dual = plan(kPair, gpus);
  std::vector<CudaDevice> devices = shown(dual, 58);
  EXPECT_NO_THROW(with_cuda_facts(dual, devices));
  EXPECT_THROW(with_cuda_facts(dual, std::span(devices).first(1)), DeviceError);
  std::swap(devices[0].pci_bus_id, devices[1].pci_bus_id);
  EXPECT_THROW(with_cuda_facts(dual, devices), DeviceError);
}

TEST(PlanDevices, TheArithmeticFollowsTheCardThatTrains) {
  EXPECT_EQ(plan({}, FakeGpus{}.l4()).precision, Precision::Bf16);
  EXPECT_EQ(plan({}, FakeGpus{}.t4()).precision, Precision::Fp32);
  EXPECT_EQ(plan({{"devices.device", "cpu"}}, FakeGpus{}.l4()).precision, Precision::Fp32);
  EXPECT_EQ(plan({{"train.precision", "fp16"}}, FakeGpus{}.l4()).precision, Precision::Fp16);
}

}  // namespace
}  // namespace myxtts::test::plan_devices_test
