// SPDX-License-Identifier: Apache-2.0
#include "device/cuda_plugin.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "support/environment.h"

namespace myxtts::cuda_plugin_test {
namespace {

constexpr const char* kSomeDriver =
    "libm.so.6";  // any library that can be opened stands for a driver

std::string refusal(const CudaPlugin& plugin) {
  try {
    require_cuda(plugin);
  } catch (const DeviceError& error) {
    return error.what();
  }
  return {};
}

TEST(CudaPlugin, WithADriverThePluginIsOpenedAndItsBackendWorks) {
  const CudaPlugin plugin = open_cuda_plugin(FAKE_CUDA_PLUGIN, kSomeDriver);
  ASSERT_NE(plugin.backend, nullptr) << plugin.reason;
  EXPECT_EQ(plugin.reason, "");
  EXPECT_EQ(require_cuda(plugin).devices().size(), 2u);
  EXPECT_NO_THROW(plugin.backend->self_test(0));
  EXPECT_THROW(plugin.backend->self_test(1), DeviceError);
}

TEST(CudaPlugin, WithoutADriverThePluginIsNotOpenedAndTheNeededVersionIsSaid) {
  const CudaPlugin plugin = open_cuda_plugin(FAKE_CUDA_PLUGIN, "libabsent-cuda.so.1");
  EXPECT_TRUE(plugin.present);
  EXPECT_EQ(plugin.backend, nullptr);
  const std::string message = refusal(plugin);
  EXPECT_NE(message.find("libabsent-cuda.so.1"), std::string::npos) << message;
  EXPECT_NE(message.find("580"), std::string::npos) << message;
  EXPECT_NE(message.find("--device cpu"), std::string::npos) << message;
}

TEST(CudaPlugin, AMissingPluginIsNamedWithItsPathAlsoWhereThereIsNoDriver) {
  for (const char* driver : {kSomeDriver, "libabsent-cuda.so.1"}) {
    const CudaPlugin plugin = open_cuda_plugin("/no/such/libmyxtts_cuda.so", driver);
    EXPECT_FALSE(plugin.present);
    const std::string message = refusal(plugin);
    EXPECT_NE(message.find("/no/such/libmyxtts_cuda.so"), std::string::npos) << message;
    EXPECT_NE(message.find("MYXTTS_CUDA=ON"), std::string::npos) << message;
  }
}

TEST(CudaPlugin, AFileTheLoaderRefusesIsSaidInTheLoadersWords) {
  const CudaPlugin plugin = open_cuda_plugin("/proc/self/cmdline", kSomeDriver);
  EXPECT_EQ(plugin.backend, nullptr);
  EXPECT_NE(plugin.reason.find("/proc/self/cmdline"), std::string::npos) << plugin.reason;
}

TEST(CudaPlugin, APluginOfAnotherVersionIsRefused) {
  const CudaPlugin plugin = open_cuda_plugin(FAKE_CUDA_PLUGIN_OF_ANOTHER_VERSION, kSomeDriver);
  EXPECT_EQ(plugin.backend, nullptr);
  EXPECT_NE(plugin.reason.find("another version"), std::string::npos) << plugin.reason;
}

TEST(CudaPlugin, ALibraryThatIsNoPluginIsRefused) {
  const CudaPlugin plugin = open_cuda_plugin(FAKE_NVML, kSomeDriver);
  EXPECT_EQ(plugin.backend, nullptr);
  EXPECT_NE(plugin.reason.find("another version"), std::string::npos) << plugin.reason;
}

TEST(CudaPlugin, IsLookedForBesideTheLibraryUnlessTheEnvironmentNamesAnother) {
  EXPECT_EQ(cuda_plugin_path().filename(), "libmyxtts_cuda.so");
  EXPECT_TRUE(std::filesystem::exists(cuda_plugin_path().parent_path() / "libmyxtts.so"));
  const test::Environment variables{{"MYXTTS_CUDA_PLUGIN", "/else/where.so"},
                                    {"MYXTTS_CUDA_DRIVER", "driver.so"}};
  EXPECT_EQ(cuda_plugin_path(), "/else/where.so");
  EXPECT_EQ(cuda_driver_library(), "driver.so");
}

}  // namespace
}  // namespace myxtts::cuda_plugin_test
