// SPDX-License-Identifier: Apache-2.0
#include "device/nvml.h"

#include <gtest/gtest.h>

#include "support/environment.h"

namespace myxtts::test::gpu_meter_test {
namespace {

TEST(GpuMeter, ReadsTheGpuOfTheUuidAgainAndAgain) {
  const Environment machine{{"FAKE_NVML_NAMES", "NVIDIA H200;NVIDIA L4"}};
  const auto inventory = discover_gpus(FAKE_NVML);
  ASSERT_EQ(inventory.gpus.size(), 2U);
  const GpuMeter meter(inventory.gpus[1].uuid, FAKE_NVML);
  for (int time = 0; time < 2; ++time) {
    const auto use = meter.read();
    ASSERT_TRUE(use);
    EXPECT_EQ(use->busy_share, *inventory.gpus[1].utilisation_percent / 100.0);
    EXPECT_EQ(use->total_bytes, *inventory.gpus[1].memory_total_bytes);
    EXPECT_EQ(use->total_bytes - use->used_bytes, *inventory.gpus[1].memory_free_bytes);
  }
}

TEST(GpuMeter, TellsNothingWhereThereIsNoDriverOrNoSuchGpu) {
  EXPECT_FALSE(GpuMeter("GPU-1", "libabsent-ml.so.1").read());
  const Environment machine{{"FAKE_NVML_NAMES", "NVIDIA H200"}};
  EXPECT_FALSE(GpuMeter("GPU-of-another-machine", FAKE_NVML).read());
}

}  // namespace
}  // namespace myxtts::test::gpu_meter_test
