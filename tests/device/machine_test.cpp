// SPDX-License-Identifier: Apache-2.0
#include "device/machine.h"

#include <sched.h>

#include <gtest/gtest.h>

#include "support/environment.h"

namespace myxtts::machine_test {
namespace {

TEST(Machine, UsableCoresAreBoundedByAffinityAndByTheContainersQuota) {
  EXPECT_EQ((CpuInfo{.logical_cores = 16}).usable_cores(), 16);
  EXPECT_EQ((CpuInfo{.logical_cores = 16, .quota = 2.5}).usable_cores(), 3);
  EXPECT_EQ((CpuInfo{.logical_cores = 2, .quota = 8.0}).usable_cores(), 2);
  EXPECT_EQ((CpuInfo{.logical_cores = 4, .quota = 0.2}).usable_cores(), 1);
}

TEST(Machine, AProcessConfinedToOneCoreSeesOneCore) {
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  int allowed = 0;
  while (!CPU_ISSET(static_cast<std::size_t>(allowed), &before)) ++allowed;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(static_cast<std::size_t>(allowed), &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  const CpuInfo confined = SystemProbe().cpu();
  ASSERT_EQ(sched_setaffinity(0, sizeof before, &before), 0);

  EXPECT_EQ(confined.logical_cores, 1);
  EXPECT_EQ(confined.physical_cores, 1);
  EXPECT_EQ(SystemProbe().cpu().logical_cores, CPU_COUNT(&before));
}

TEST(Machine, GpusOfOneKindAreCountedTogether) {
  GpuInventory found{.driver_found = true, .driver_version = "580.65.06", .cuda_version = 13010};
  found.gpus = {{.index = 0, .name = "NVIDIA L4", .memory_total_bytes = 24'000'000'000},
                {.index = 1, .name = "NVIDIA H200", .memory_total_bytes = 150'000'000'000},
                {.index = 2, .name = "NVIDIA L4", .memory_total_bytes = 24'000'000'000}};
  EXPECT_EQ(describe_gpus(found),
            "2 × NVIDIA L4 (24 GB) + NVIDIA H200 (150 GB), driver 580.65.06, CUDA 13.1");
}

TEST(Machine, WithoutADriverTheDescriptionSaysWhy) {
  EXPECT_EQ(describe_gpus({.driver_fault = "libnvidia-ml.so.1: not found"}),
            "none (libnvidia-ml.so.1: not found)");
}

TEST(Machine, TheVisibleDevicesOfTheEnvironmentAreKept) {
  const test::Environment variables{{"CUDA_VISIBLE_DEVICES", "1,0"}};
  EXPECT_EQ(SystemProbe("/", "libabsent-ml.so.1").gpus().visible_devices, "1,0");
}

TEST(Machine, AFolderThatIsNotThereHasAFaultInPlaceOfFreeSpace) {
  const DiskInfo disk = SystemProbe().disk("/no/such/folder");
  EXPECT_EQ(disk.free_bytes, 0);
  EXPECT_EQ(disk.fault, "No such file or directory");
  EXPECT_GT(SystemProbe().disk("/").total_bytes, 0);
}

}  // namespace
}  // namespace myxtts::machine_test
