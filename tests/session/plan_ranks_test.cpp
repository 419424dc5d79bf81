// SPDX-License-Identifier: Apache-2.0
#include "session/plan_run.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "config/model.h"
#include "diagnose/memory/memory_plan.h"
#include "support/fake_gpus.h"

namespace myxtts::plan_ranks_test {
namespace {

using test::FakeGpus;

RunConfig fed(const GpuNumbers& gpus) {
  RunConfig config;
  config.data.data_gpu = 0;
  config.devices.gpus = gpus;
  config.train.batch_size = 4;
  return config;
}

std::vector<std::int64_t> model_gpus(const std::vector<RunConfig>& settings) {
  std::vector<std::int64_t> gpus;
  for (const RunConfig& config : settings) gpus.push_back(config.data.model_gpu.value());
  return gpus;
}

TEST(PlanRanks, ThreadsAreForOneDataDevice) {
  EXPECT_TRUE(has_rank_threads(fed({1, 2})));
  RunConfig config;
  EXPECT_FALSE(has_rank_threads(config));
  config.devices.gpus = GpuNumbers{0, 1};
  EXPECT_FALSE(has_rank_threads(config)) << "each with a pipeline of its own";
  config = {};
  config.parallel.ranks = 2;
  EXPECT_TRUE(has_rank_threads(config));
}

TEST(PlanRanks, AGpuOfTheListIsTheModelGpuOfItsRank) {
  FakeGpus gpus;
  gpus.h200().h200().h200().h200();
  const auto settings = settings_of_ranks(fed({3, 1}), gpus.machine.gpus);
  EXPECT_EQ(model_gpus(settings), (std::vector<std::int64_t>{3, 1}));
  EXPECT_EQ(settings[1].data.data_gpu, 0);
  EXPECT_FALSE(has_rank_threads(settings[1]));
  EXPECT_EQ(model_gpus(settings_of_ranks(fed({}), gpus.machine.gpus)),
            (std::vector<std::int64_t>{1, 2, 3}))
      << "all but the one that prepares data";
}

TEST(PlanRanks, WithoutADataGpuRanksAreProcessesWithOneGpuEach) {
  FakeGpus gpus;
  gpus.h200().h200().h200();
  RunConfig config;
  EXPECT_FALSE(has_rank_processes(config));
  EXPECT_FALSE(has_rank_processes(fed({1, 2})));
  config.devices.gpus = GpuNumbers{2, 0};
  EXPECT_TRUE(has_rank_processes(config));
  const auto settings = settings_of_ranks(config, gpus.machine.gpus);
  ASSERT_EQ(settings.size(), 2U);
  EXPECT_EQ(settings[0].devices.gpus, GpuNumbers{2});
  EXPECT_EQ(settings[1].devices.gpus, GpuNumbers{0});
  config.devices.gpus = GpuNumbers{};
  EXPECT_EQ(settings_of_ranks(config, gpus.machine.gpus).size(), 3U) << "all";
  EXPECT_THROW(settings_of_ranks(config, FakeGpus().machine.gpus), DeviceError);
}

GpuNumbers gpu_of_rank(const RunConfig& config, int local_rank, const FakeGpus& gpus) {
  const World world{.rank = 4 + local_rank, .size = 8, .local_rank = local_rank, .local_size = 4};
  return settings_of_rank(config, world, gpus.machine.gpus).devices.gpus.value_or(GpuNumbers{});
}

// torchrun shows all of a host to each; srun and Kubernetes may show each its own alone.
TEST(PlanRanks, ARankOfALauncherHasTheGpuOfItsPlaceOnTheHost) {
  FakeGpus three;
  three.h200().h200().h200();
  FakeGpus one;
  one.h200();
  RunConfig config;
  EXPECT_EQ(gpu_of_rank(config, 2, three), GpuNumbers{2});
  EXPECT_EQ(gpu_of_rank(config, 2, one), GpuNumbers{0});
  EXPECT_EQ(gpu_of_rank(config, 1, FakeGpus()), GpuNumbers{}) << "the CPU, if that may be";
  EXPECT_THROW(gpu_of_rank(config, 3, three), DeviceError);
  config.devices.gpus = GpuNumbers{};
  EXPECT_EQ(gpu_of_rank(config, 1, three), GpuNumbers{1});
  config.devices.gpus = GpuNumbers{2, 1};
  EXPECT_EQ(gpu_of_rank(config, 1, three), GpuNumbers{1});
  EXPECT_THROW(gpu_of_rank(config, 2, three), ConfigError);
}

TEST(PlanRanks, GpusThatOtherFlagsNameStayTheRanksOwn) {
  FakeGpus gpus;
  gpus.h200().h200();
  RunConfig config;
  config.devices.device = DeviceKind::Cpu;
  EXPECT_EQ(gpu_of_rank(config, 3, gpus), GpuNumbers{});
  config = {};
  config.data.data_gpu = 0;
  config.data.model_gpu = 1;
  EXPECT_EQ(gpu_of_rank(config, 0, gpus), GpuNumbers{}) << "a pair for the one rank of a host";
}

TEST(PlanRanks, AllOfOneGpuIsNone) {
  FakeGpus gpus;
  gpus.h200();
  EXPECT_THROW(settings_of_ranks(fed({}), gpus.machine.gpus), DeviceError);
}

// LibTorch's numbers count through the GPUs that CUDA is shown: the data GPU, then each rank's.
TEST(PlanRanks, EachRankHasItsOwnNumberAndAllHaveOneDataRole) {
  FakeGpus gpus;
  gpus.h200().h200().h200().h200();
  std::vector<DevicePlan> plans;
  for (const RunConfig& config : settings_of_ranks(fed({3, 1}), gpus.machine.gpus)) {
    plans.push_back(plan_with_savers(config, gpus.machine, model_preset("tiny")));
  }
  plans = joined_plans(plans, {});
  EXPECT_EQ(plans[0].model.gpu->physical, 3);
  EXPECT_EQ(plans[0].model.gpu->logical, 1);
  EXPECT_EQ(plans[1].model.gpu->physical, 1);
  EXPECT_EQ(plans[1].model.gpu->logical, 2);
  EXPECT_EQ(plans[0].data, plans[1].data);
  EXPECT_EQ(plans[1].data.gpu->logical, 0);
  EXPECT_EQ(plans[0].mode, Mode::Dual);
}

TEST(PlanRanks, DataWorkOnTheCpuHasTheThreadsOfAllRanksUnlessToldOtherwise) {
  std::vector<DevicePlan> plans(3);
  for (DevicePlan& plan : plans) plan.data.threads = 2;
  EXPECT_EQ(joined_plans(plans, {}).back().data.threads, 6);
  EXPECT_EQ(joined_plans(plans, {.data_threads = 2}).back().data.threads, 2);
}

TEST(PlanRanks, CardsWithRoomForDifferentBatchesAreNamed) {
  std::vector<DevicePlan> plans(2);
  for (int place = 0; place < 2; ++place) {
    plans[static_cast<std::size_t>(place)].model.gpu = PlannedGpu{.listed = place + 1};
    plans[static_cast<std::size_t>(place)].batch_size = place == 0 ? 16 : 4;
  }
  try {
    (void)joined_plans(plans, {});
    FAIL();
  } catch (const DeviceError& error) {
    const std::string sentence = error.what();
    EXPECT_NE(sentence.find("16 clips on GPU 1, 4 on GPU 2"), std::string::npos) << sentence;
    EXPECT_NE(sentence.find("--batch-size 4"), std::string::npos) << sentence;
  }
}

// Without it, as many ranks as cores would each take all of the host's memory for theirs.
TEST(PlanRanks, RanksOfAHostPlanWithTheirShareOfItsMemory) {
  RunConfig config;
  config.devices.device = DeviceKind::Cpu;
  const ModelConfig model = model_preset("tiny");
  constexpr int kMany = 1 << 20;  // to each of so many any machine leaves next to nothing
  EXPECT_LT(plan_run(config, model, kMany).batch_size, plan_run(config, model).batch_size);
}

}  // namespace
}  // namespace myxtts::plan_ranks_test
