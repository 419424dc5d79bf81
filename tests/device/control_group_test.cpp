// SPDX-License-Identifier: Apache-2.0
#include "device/machine.h"

#include <unistd.h>

#include <fstream>

#include <gtest/gtest.h>

namespace myxtts::control_group_test {
namespace {

namespace fs = std::filesystem;

// Reads a made-up /proc and /sys.
class ControlGroups : public testing::Test {
 protected:
  ControlGroups() : root(fs::temp_directory_path() / ("myxtts-root-" + std::to_string(getpid()))) {
    fs::create_directories(root);
    write("proc/meminfo",
          "MemTotal:       32000000 kB\nMemFree: 1 kB\nMemAvailable:   20000000 kB\n");
  }
  ~ControlGroups() override { fs::remove_all(root); }

  void write(const fs::path& file, const std::string& text) {
    fs::create_directories((root / file).parent_path());
    std::ofstream(root / file) << text;
  }

  fs::path root;
};

TEST_F(ControlGroups, WithoutControlGroupsThereIsNoLimit) {
  EXPECT_FALSE(cpu_quota(root).has_value());
  EXPECT_FALSE(memory_limit(root).has_value());
  const MemoryInfo memory = SystemProbe(root).memory();
  EXPECT_EQ(memory.total_bytes, 32'000'000LL * 1024);
  EXPECT_EQ(memory.available_bytes, 20'000'000LL * 1024);
  EXPECT_FALSE(memory.limited_by_container);
}

TEST_F(ControlGroups, TheTightestQuotaOnTheWayUpCounts) {
  write("proc/self/cgroup", "0::/jobs/mine\n");
  write("sys/fs/cgroup/jobs/mine/cpu.max", "max 100000\n");
  write("sys/fs/cgroup/jobs/cpu.max", "250000 100000\n");
  write("sys/fs/cgroup/cpu.max", "400000 100000\n");
  EXPECT_EQ(cpu_quota(root), 2.5);
}

TEST_F(ControlGroups, AContainerThatSeesTheHostsPathFindsItsLimitAtTheMount) {
  write("proc/self/cgroup", "0::/docker/0123456789abcdef\n");
  write("sys/fs/cgroup/cpu.max", "150000 100000\n");
  EXPECT_EQ(cpu_quota(root), 1.5);
}

TEST_F(ControlGroups, TheFirstVersionOfControlGroupsIsReadToo) {
  write("proc/self/cgroup", "5:cpu,cpuacct:/box\n4:memory:/box\n");
  write("sys/fs/cgroup/cpu/box/cpu.cfs_quota_us", "300000\n");
  write("sys/fs/cgroup/cpu/box/cpu.cfs_period_us", "100000\n");
  write("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
  write("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  write("sys/fs/cgroup/memory/box/memory.limit_in_bytes", "4000000000\n");
  write("sys/fs/cgroup/memory/box/memory.usage_in_bytes", "1500000000\n");
  write("sys/fs/cgroup/memory/box/memory.stat", "cache 7\ntotal_inactive_file 500000000\n");
  write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");  // no limit
  EXPECT_EQ(cpu_quota(root), 3.0);
  const MemoryInfo memory = SystemProbe(root).memory();
  EXPECT_EQ(memory.total_bytes, 4'000'000'000);
  EXPECT_EQ(memory.available_bytes, 3'000'000'000);
  EXPECT_TRUE(memory.limited_by_container);
}

TEST_F(ControlGroups, FileCacheOfAContainerCountsAsAvailable) {
  write("proc/self/cgroup", "0::/\n");
  write("sys/fs/cgroup/memory.max", "8000000000\n");
  write("sys/fs/cgroup/memory.current", "7000000000\n");
  write("sys/fs/cgroup/memory.stat", "anon 1\ninactive_file 5000000000\n");
  const MemoryInfo memory = SystemProbe(root).memory();
  EXPECT_EQ(memory.total_bytes, 8'000'000'000);
  EXPECT_EQ(memory.available_bytes, 6'000'000'000);
}

TEST_F(ControlGroups, AContainerAllowedMoreThanTheMachineHasIsNoLimit) {
  write("proc/self/cgroup", "0::/\n");
  write("sys/fs/cgroup/memory.max", "900000000000\n");
  const MemoryInfo memory = SystemProbe(root).memory();
  EXPECT_EQ(memory.total_bytes, 32'000'000LL * 1024);
  EXPECT_FALSE(memory.limited_by_container);
}

}  // namespace
}  // namespace myxtts::control_group_test
