// SPDX-License-Identifier: Apache-2.0
#include "diagnose/doctor/checklist.h"

#include <map>

#include <gtest/gtest.h>

#include "diagnose/doctor/measure.h"
#include "support/environment.h"
#include "support/fake_machine.h"

namespace myxtts::checklist_test {
namespace {

// Without CUDA unless a plugin and a driver are given.
Findings examine(test::FakeMachine& machine, const char* plugin = "/no/such/plugin.so",
                 const char* driver = "libabsent-cuda.so.1") {
  Findings findings = measure(machine, open_cuda_plugin(plugin, driver), "/somewhere");
  findings.libtorch = {"2.11.0", "2.11.0", "libtorch_cpu.so"};
  return findings;
}

std::map<std::string, std::string> rows(const Findings& findings) {
  std::map<std::string, std::string> all;
  for (const Check& check : make_checklist(findings)) {
    all[check.id] = name_of(check.verdict) + ": " + check.found;
  }
  return all;
}

// The ids of the rows that are not the same in both.
std::string difference(const std::map<std::string, std::string>& a,
                       const std::map<std::string, std::string>& b) {
  std::string ids;
  for (const auto& [id, found] : a) {
    if (!b.contains(id) || b.at(id) != found) ids += id + " ";
  }
  for (const auto& [id, found] : b) {
    if (!a.contains(id)) ids += id + " ";
  }
  return ids;
}

TEST(Checklist, DiskTakenAwayChangesThatRowAndStopsACpuRun) {
  test::FakeMachine machine;
  const Findings before = examine(machine);
  ASSERT_TRUE(can_run_on_cpu(make_checklist(before)));
  machine.free_disk.free_bytes = 200'000'000;
  const Findings after = examine(machine);
  EXPECT_EQ(difference(rows(before), rows(after)), "disk ");
  EXPECT_FALSE(can_run_on_cpu(make_checklist(after)));
}

TEST(Checklist, MemoryTakenAwayChangesThatRowAndStopsACpuRun) {
  test::FakeMachine machine;
  const Findings before = examine(machine);
  machine.facts.memory.available_bytes = 1'000'000'000;
  const Findings after = examine(machine);
  EXPECT_EQ(difference(rows(before), rows(after)), "memory ");
  EXPECT_FALSE(can_run_on_cpu(make_checklist(after)));
}

TEST(Checklist, DictionariesTakenAwayChangeTheirRowsAndACpuRunIsStillPossible) {
  test::FakeMachine machine;
  const test::Environment none{{"MYXTTS_TEXT_DATA", "/no/such/folder"},
                               {"MYXTTS_SOUND_DATA", "/no/such/folder"}};
  const auto all = rows(examine(machine));
  EXPECT_EQ(all.at("japanese"), "FAIL: not installed");
  EXPECT_EQ(all.at("chinese"), "FAIL: not installed");
  EXPECT_EQ(all.at("speech"), "FAIL: not installed");
  EXPECT_TRUE(can_run_on_cpu(make_checklist(examine(machine))));
}

TEST(Checklist, ThePluginRowNamesTheGpusOurKernelRanOnAndTheirRowsTheOneItFailedOn) {
  const test::Environment shown{{"CUDA_VISIBLE_DEVICES", "GPU-00000000,GPU-00000001"}};
  test::FakeMachine machine;
  machine.facts.gpus = {.driver_found = true, .gpus = {test::fake_l4(0), test::fake_l4(1)}};
  const auto found = rows(examine(machine, FAKE_CUDA_PLUGIN, "libm.so.6"));
  EXPECT_EQ(found.at("cuda_plugin"), "PASS: CUDA 13.0; our kernels run on GPU 0");
  EXPECT_TRUE(found.at("gpu0").starts_with("PASS: ")) << found.at("gpu0");
  EXPECT_TRUE(found.at("gpu1").starts_with("FAIL: ")) << found.at("gpu1");
  EXPECT_NE(found.at("gpu1").find("it computes wrongly"), std::string::npos) << found.at("gpu1");
}

TEST(Checklist, AGpuOlderThanTuringCannotBeUsed) {
  test::FakeMachine machine;
  GpuInfo old = test::fake_l4(0);
  old.name = "Tesla V100";
  old.capability_major = 7;
  old.capability_minor = 0;
  machine.facts.gpus = {.driver_found = true, .driver_version = "580.65.06", .gpus = {old}};
  EXPECT_EQ(rows(examine(machine)).at("gpu0").substr(0, 4), "FAIL");
}

TEST(Checklist, AGpuWithAFailingCallIsAWarningWithTheCallsName) {
  test::FakeMachine machine;
  GpuInfo gpu = test::fake_l4(0);
  gpu.faults = {"nvmlDeviceGetPowerUsage: Not Supported"};
  machine.facts.gpus = {.driver_found = true, .driver_version = "580.65.06", .gpus = {gpu}};
  const auto row = rows(examine(machine)).at("gpu0");
  EXPECT_EQ(row.substr(0, 4), "WARN");
  EXPECT_NE(row.find("nvmlDeviceGetPowerUsage"), std::string::npos) << row;
}

TEST(Checklist, ADriverFromTheNeededVersionOnIsEnough) {
  test::FakeMachine machine;
  for (const auto& [version, verdict] : std::map<std::string, std::string>{
           {"579.99.99", "FAIL"}, {"580.65.06", "PASS"}, {"1000.1", "PASS"}}) {
    machine.facts.gpus = {.driver_found = true, .driver_version = version};
    EXPECT_EQ(rows(examine(machine)).at("driver").substr(0, 4), verdict) << version;
  }
}

TEST(Checklist, ALibTorchOtherThanTheOneBuiltAgainstIsAWarning) {
  Findings findings;
  findings.libtorch = {"2.12.0", "2.11.0", "libtorch_cpu.so"};
  const auto row = rows(findings).at("libtorch");
  EXPECT_EQ(row, "WARN: 2.12.0 from libtorch_cpu.so; this program was built for 2.11.0");
}

}  // namespace
}  // namespace myxtts::checklist_test
