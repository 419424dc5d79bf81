// SPDX-License-Identifier: Apache-2.0
//
// The table that people see, and plan.json, as golden texts: see golden_text.h.
#include <nlohmann/json.hpp>

#include "device/golden_text.h"
#include "device/plan/device_plan.h"
#include "device/plan_inputs.h"
#include "support/temporary_folder.h"

namespace myxtts::test::plan_table_test {
namespace {

const FakeGpus kOne = FakeGpus{}.l4();
const FakeGpus kTwo = FakeGpus{}.h200().l4();
const FakeGpus kFour = FakeGpus{}.rtx_3060().l4().t4().h200();
const FakeGpus kEight =
    FakeGpus{}.h200().l4().l4().rtx_3060().rtx_3060().t4().t4().add("NVIDIA A10", 23'028, 86);

TEST(PlanTable, OneGpu) {
  expect_golden("one_gpu_single.txt", describe(plan({}, kOne)));
  expect_golden(
      "one_gpu_split.txt",
      describe(
          plan({{"devices.split_gpu", "0:8"}, {"devices.enable_memory_isolation", "true"}}, kOne)));
}

TEST(PlanTable, TwoGpusOfUnequalMemory) {
  expect_golden("two_gpus_dual.txt",
                describe(plan({{"data.data_gpu", "1"}, {"data.model_gpu", "0"}}, kTwo)));
  expect_golden("two_gpus_the_wrong_way.txt",
                describe(plan({{"data.data_gpu", "0"},
                               {"data.model_gpu", "1"},
                               {"devices.enable_memory_isolation", "true"}},
                              kTwo)));
}

TEST(PlanTable, FourGpusOfUnequalMemory) {
  expect_golden("four_gpus_single.txt", describe(plan({}, kFour)));
  FakeGpus listed = kFour;
  listed.machine.gpus.visible_devices = "GPU-0000-fake,GPU-3000-fake,GPU-1000-fake";
  for (GpuLink& link : listed.machine.gpus.links) link.path = GpuPath::Sys;
  expect_golden("four_gpus_dual_in_a_list.txt",
                describe(plan({{"data.data_gpu", "2"}, {"data.model_gpu", "1"}}, listed)));
}

TEST(PlanTable, EightGpusOfUnequalMemory) {
  expect_golden("eight_gpus_dual.txt", describe(plan({{"data.data_gpu", "6"},
                                                      {"data.model_gpu", "7"},
                                                      {"devices.enable_memory_isolation", "true"}},
                                                     kEight)));
}

TEST(PlanTable, NoGpu) {
  expect_golden("cpu.txt", describe(plan({}, {})));
}

TEST(PlanTable, TheJsonHoldsEveryPartOfThePlan) {
  const DevicePlan dual = plan({{"data.data_gpu", "6"},
                                {"data.model_gpu", "7"},
                                {"devices.enable_memory_isolation", "true"}},
                               kEight);
  expect_golden("eight_gpus_dual.json", to_json(dual));
  const auto json = nlohmann::json::parse(to_json(plan({}, {})));
  EXPECT_EQ(json["mode"], "cpu");
  EXPECT_EQ(json["data"]["device"], "cpu");
  EXPECT_TRUE(json["model"]["gpu"].is_null());
  EXPECT_EQ(json["model"]["threads"], 12);
}

TEST(PlanTable, AFolderGetsThePlanAsJsonAndAMissingOneIsAnError) {
  const TemporaryFolder folder;
  const DevicePlan single = plan({}, kOne);
  write_plan(single, folder.path());
  EXPECT_EQ(contents_of(folder / "plan.json"), to_json(single));
  EXPECT_THROW(write_plan(single, folder / "nowhere"), DataError);
}

}  // namespace
}  // namespace myxtts::test::plan_table_test
