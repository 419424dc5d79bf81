// SPDX-License-Identifier: Apache-2.0
#include "device/plan/gpu_choice.h"

#include <cstdlib>

#include "device/plan_inputs.h"
#include "support/environment.h"

namespace myxtts::test::visible_devices_test {
namespace {

GpuInventory four_gpus(const std::string& visible) {
  FakeGpus gpus;
  gpus.h200().l4().l4().l4();
  gpus.machine.gpus.visible_devices = visible;
  return gpus.machine.gpus;
}

std::vector<int> seen(const std::string& visible) {
  std::vector<int> indexes;
  for (const GpuInfo& gpu : visible_gpus(four_gpus(visible))) indexes.push_back(gpu.index);
  return indexes;
}

std::string complaint(const std::string& visible) {
  try {
    visible_gpus(four_gpus(visible));
  } catch (const DeviceError& error) {
    return error.what();
  }
  return {};
}

TEST(VisibleDevices, NumbersAndUuidsAreReadInTheirOrder) {
  EXPECT_EQ(seen("2,0"), (std::vector<int>{2, 0}));
  EXPECT_EQ(seen(" 3 , 1 "), (std::vector<int>{3, 1}));
  EXPECT_EQ(seen("GPU-3000-fake,GPU-0000-fake"), (std::vector<int>{3, 0}));
  EXPECT_EQ(seen("GPU-2"), (std::vector<int>{2}));  // the beginning of one is enough
  GpuInventory all = four_gpus("");
  all.visible_devices.reset();
  EXPECT_EQ(visible_gpus(all).size(), 4u);
}

TEST(VisibleDevices, AnEmptyListAndMinusOneHideWhatFollows) {
  EXPECT_TRUE(seen("").empty());
  EXPECT_TRUE(seen("-1").empty());
  EXPECT_EQ(seen("1,-1,2"), (std::vector<int>{1}));
}

TEST(VisibleDevices, AnEntryThatIsNotThereFitsSeveralOrStandsTwiceIsAnError) {
  EXPECT_EQ(complaint("0,4"),
            "CUDA_VISIBLE_DEVICES=0,4 names '4', which is not there; this machine has 4 GPUs: 0 "
            "(NVIDIA H200, 143,771 MB), 1 (NVIDIA L4, 23,034 MB), 2 (NVIDIA L4, 23,034 MB), 3 "
            "(NVIDIA L4, 23,034 MB). Name one of them, or type: unset CUDA_VISIBLE_DEVICES.");
  for (const char* absent : {"GPU-9", "gpu1", "1x", "0;1"}) {
    EXPECT_NE(complaint(absent).find("which is not there"), std::string::npos) << absent;
  }
  EXPECT_NE(complaint("GPU-").find("which fits several"), std::string::npos);
  EXPECT_NE(complaint("1,1").find("names GPU 1 twice"), std::string::npos);
  EXPECT_NE(complaint("1,GPU-1000").find("names GPU 1 twice"), std::string::npos);
}

TEST(VisibleDevices, APartOfAGpuIsAnError) {
  EXPECT_NE(complaint("MIG-4d5e").find("names a part of a GPU (MIG-4d5e)"), std::string::npos);
}

TEST(VisibleDevices, NumbersAmongUnequalCardsAreAWarningUnlessTheOrderIsSettled) {
  FakeGpus gpus;
  gpus.h200().l4().l4();
  const Flags pair = {{"data.data_gpu", "0"}, {"data.model_gpu", "1"}};
  const auto warnings = [&](const std::string& visible, const std::string& order) {
    gpus.machine.gpus.visible_devices = visible;
    gpus.machine.gpus.device_order = order;
    return plan(pair, gpus).warnings.size();
  };
  EXPECT_EQ(warnings("1,2", ""), 1u);
  EXPECT_EQ(warnings("1,2", "FASTEST_FIRST"), 1u);
  EXPECT_EQ(warnings("1,2", "PCI_BUS_ID"), 0u);
  EXPECT_EQ(warnings("GPU-1000,GPU-2000", ""), 0u);
}

TEST(VisibleDevices, OfSeveralRanksTheDataGpuAndEachOfTheirOwnIsShownOnce) {
  const Environment restored{{"CUDA_VISIBLE_DEVICES", "0,1,2,3"}};
  FakeGpus gpus;
  gpus.l4().l4().l4().l4();
  const std::vector<DevicePlan> plans{
      plan({{"data.data_gpu", "3"}, {"data.model_gpu", "2"}}, gpus),
      plan({{"data.data_gpu", "3"}, {"data.model_gpu", "0"}}, gpus)};
  set_visible_devices(std::span(plans));
  EXPECT_STREQ(std::getenv("CUDA_VISIBLE_DEVICES"), "GPU-3000-fake,GPU-2000-fake,GPU-0000-fake");
}

TEST(VisibleDevices, OnlyThePlannedGpusAreLeftVisibleInTheOrderOfTheirRoles) {
  const Environment restored{{"CUDA_VISIBLE_DEVICES", "0,1,2,3"}};
  FakeGpus gpus;
  gpus.l4().l4().l4().l4();
  set_visible_devices(plan({{"data.data_gpu", "3"}, {"data.model_gpu", "2"}}, gpus));
  EXPECT_STREQ(std::getenv("CUDA_VISIBLE_DEVICES"), "GPU-3000-fake,GPU-2000-fake");
  set_visible_devices(plan({{"devices.split_gpu", "2"}}, gpus));
  EXPECT_STREQ(std::getenv("CUDA_VISIBLE_DEVICES"), "GPU-2000-fake");
  set_visible_devices(plan({{"devices.device", "cpu"}}, gpus));
  EXPECT_STREQ(std::getenv("CUDA_VISIBLE_DEVICES"), "");
}

}  // namespace
}  // namespace myxtts::test::visible_devices_test
