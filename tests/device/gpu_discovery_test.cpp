// SPDX-License-Identifier: Apache-2.0
#include "device/nvml.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "support/environment.h"

namespace myxtts::gpu_discovery_test {
namespace {

using test::Environment;

TEST(GpuDiscovery, AMachineWithoutADriverHasNoGpusAndTheLoadersReason) {
  const GpuInventory found = discover_gpus("libabsent-ml.so.1");
  EXPECT_FALSE(found.driver_found);
  EXPECT_TRUE(found.gpus.empty());
  EXPECT_NE(found.driver_fault.find("libabsent-ml.so.1"), std::string::npos) << found.driver_fault;
}

TEST(GpuDiscovery, ALibraryThatIsNotNvmlIsNamedWithTheFunctionItLacks) {
  const GpuInventory found = discover_gpus("libm.so.6");
  EXPECT_FALSE(found.driver_found);
  EXPECT_NE(found.driver_fault.find("nvmlInit_v2"), std::string::npos) << found.driver_fault;
}

TEST(GpuDiscovery, ADriverThatIsNotLoadedIsSaidInItsOwnWords) {
  const Environment machine{{"FAKE_NVML_FAIL", "nvmlInit_v2=9"}};
  const GpuInventory found = discover_gpus(FAKE_NVML);
  EXPECT_FALSE(found.driver_found);
  EXPECT_EQ(found.driver_fault, "nvmlInit_v2: Driver Not Loaded");
}

TEST(GpuDiscovery, ADriverWithoutACardIsFoundWithNoGpus) {
  const GpuInventory found = discover_gpus(FAKE_NVML);
  EXPECT_TRUE(found.driver_found);
  EXPECT_EQ(found.driver_version, "580.65.06");
  EXPECT_EQ(found.cuda_version, 13000);
  EXPECT_TRUE(found.gpus.empty());
  EXPECT_TRUE(found.faults.empty());
}

TEST(GpuDiscovery, EveryFactAboutACardIsTakenOver) {
  const Environment machine{{"FAKE_NVML_NAMES", "NVIDIA H200"}};
  const GpuInventory found = discover_gpus(FAKE_NVML);
  ASSERT_EQ(found.gpus.size(), 1u);
  const GpuInfo& gpu = found.gpus[0];
  EXPECT_EQ(gpu.index, 0);
  EXPECT_EQ(gpu.name, "NVIDIA H200");
  EXPECT_EQ(gpu.uuid, "GPU-00000000");
  EXPECT_EQ(gpu.pci_bus_id, "00000000:10:00.0");
  EXPECT_EQ(gpu.memory_total_bytes, 150'754'820'096);
  EXPECT_EQ(gpu.memory_free_bytes, 149'754'820'096);
  EXPECT_EQ(gpu.utilisation_percent, 7);
  EXPECT_EQ(gpu.capability_major, 9);
  EXPECT_EQ(gpu.capability_minor, 0);
  EXPECT_EQ(gpu.power_watts, 76.5);
  EXPECT_EQ(gpu.power_limit_watts, 700.0);
  EXPECT_TRUE(gpu.faults.empty());
  EXPECT_TRUE(found.links.empty());
}

TEST(GpuDiscovery, ACallThatFailsOnOneCardIsAReasonThereAndHidesNothingElse) {
  const Environment machine{{"FAKE_NVML_NAMES", "NVIDIA L4;NVIDIA L4"},
                            {"FAKE_NVML_FAIL", "nvmlDeviceGetMemoryInfo=999"},
                            {"FAKE_NVML_BROKEN", "1"}};
  const GpuInventory found = discover_gpus(FAKE_NVML);
  ASSERT_EQ(found.gpus.size(), 2u);
  EXPECT_TRUE(found.gpus[0].faults.empty());
  EXPECT_TRUE(found.gpus[0].memory_total_bytes.has_value());
  EXPECT_FALSE(found.gpus[1].memory_total_bytes.has_value());
  EXPECT_EQ(found.gpus[1].faults,
            std::vector<std::string>{"nvmlDeviceGetMemoryInfo: Unknown Error"});
  EXPECT_EQ(found.gpus[1].utilisation_percent, 7);
}

TEST(GpuDiscovery, ACardThatFellOffTheBusKeepsItsPlaceInTheList) {
  const Environment machine{{"FAKE_NVML_NAMES", "NVIDIA L4;NVIDIA L4;NVIDIA L4"},
                            {"FAKE_NVML_FAIL", "nvmlDeviceGetHandleByIndex_v2=999"},
                            {"FAKE_NVML_BROKEN", "1"}};
  const GpuInventory found = discover_gpus(FAKE_NVML);
  ASSERT_EQ(found.gpus.size(), 3u);
  EXPECT_EQ(found.gpus[1].faults.size(), 1u);
  EXPECT_EQ(found.gpus[2].index, 2);
  ASSERT_EQ(found.links.size(), 1u);  // between the two that answer
  EXPECT_EQ(found.links[0].second, 2);
}

TEST(GpuDiscovery, AnOldDriverWithoutSomeFunctionsGivesTheRest) {
  const Environment machine{{"FAKE_NVML_NAMES", "NVIDIA L4;NVIDIA L4"}};
  const GpuInventory found = discover_gpus(FAKE_NVML_WITHOUT_NEW_FUNCTIONS);
  ASSERT_EQ(found.gpus.size(), 2u);
  EXPECT_EQ(found.gpus[0].name, "NVIDIA L4");
  EXPECT_FALSE(found.gpus[0].power_watts.has_value());
  EXPECT_EQ(found.gpus[0].faults.size(), 2u);
  EXPECT_EQ(short_name(found.links.at(0)), "SYS");
}

TEST(GpuDiscovery, PathsOverPciAreNamedAsNvidiaSmiDoes) {
  for (const auto& [level, name] : std::vector<std::pair<std::string, std::string>>{{"0", "PSB"},
                                                                                    {"10", "PIX"},
                                                                                    {"20", "PXB"},
                                                                                    {"30", "PHB"},
                                                                                    {"40", "NODE"},
                                                                                    {"50", "SYS"},
                                                                                    {"77", "?"}}) {
    const Environment machine{{"FAKE_NVML_NAMES", "NVIDIA L4;NVIDIA L4"},
                              {"FAKE_NVML_ANCESTOR", level}};
    EXPECT_EQ(short_name(discover_gpus(FAKE_NVML).links.at(0)), name) << level;
  }
}

TEST(GpuDiscovery, PeerAccessIsWhatTheDriverSaysOrNotKnown) {
  const Environment machine{{"FAKE_NVML_NAMES", "NVIDIA L4;NVIDIA L4"}};
  EXPECT_EQ(discover_gpus(FAKE_NVML).links.at(0).p2p_access, true);
  {
    const Environment apart{{"FAKE_NVML_PEER", "3"}};
    EXPECT_EQ(discover_gpus(FAKE_NVML).links.at(0).p2p_access, false);
  }
  const Environment failing{{"FAKE_NVML_FAIL", "nvmlDeviceGetP2PStatus=999"}};
  EXPECT_EQ(discover_gpus(FAKE_NVML).links.at(0).p2p_access, std::nullopt);
  EXPECT_EQ(discover_gpus(FAKE_NVML_WITHOUT_NEW_FUNCTIONS).links.at(0).p2p_access, std::nullopt);
}

TEST(GpuDiscovery, DirectLinksCountOnlyTowardsTheOtherCard) {
  // Each card's four links lead to the next one, the last card's to the first.
  const Environment machine{
      {"FAKE_NVML_NAMES", "A;B;C;D"}, {"FAKE_NVML_NVLINKS", "4"}, {"FAKE_NVML_ANCESTOR", "20"}};
  std::string paths;
  for (const GpuLink& link : discover_gpus(FAKE_NVML).links) {
    paths += fmt::format("{}-{} {}, ", link.first, link.second, short_name(link));
  }
  EXPECT_EQ(paths, "0-1 NV4, 0-2 PXB, 0-3 NV4, 1-2 NV4, 1-3 PXB, 2-3 NV4, ");
}

TEST(GpuDiscovery, EightCardsOnASwitchAreAllConnectedByEveryLink) {
  const Environment machine{{"FAKE_NVML_NAMES", "A;B;C;D;E;F;G;H"},
                            {"FAKE_NVML_NVLINKS", "18"},
                            {"FAKE_NVML_SWITCH", "1"}};
  const GpuInventory found = discover_gpus(FAKE_NVML);
  EXPECT_EQ(found.gpus.size(), 8u);
  ASSERT_EQ(found.links.size(), 28u);
  for (const GpuLink& link : found.links) EXPECT_EQ(short_name(link), "NV18");
}

}  // namespace
}  // namespace myxtts::gpu_discovery_test
