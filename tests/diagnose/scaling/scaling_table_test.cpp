// SPDX-License-Identifier: Apache-2.0
#include "diagnose/scaling/scaling_table.h"

#include <sstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "support/fake_machine.h"

namespace myxtts::scaling_table_test {
namespace {

// So many GPUs, each pair with so many NVLinks.
Machine machine_of(int gpus, int nvlinks) {
  Machine machine = test::FakeMachine().facts;
  for (int first = 0; first < gpus; ++first) {
    machine.gpus.gpus.push_back(test::fake_h200(first));
    for (int second = first + 1; second < gpus; ++second) {
      machine.gpus.links.push_back({.first = first,
                                    .second = second,
                                    .path = nvlinks > 0 ? GpuPath::NvLink : GpuPath::Phb,
                                    .nvlinks = nvlinks});
    }
  }
  return machine;
}

std::vector<std::string> lines_with(const std::string& text, const std::string& word) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    if (line.find(word) != std::string::npos) lines.push_back(line);
  }
  return lines;
}

TEST(AskedCluster, IsNothingWhereThereIsOneRank) {
  EXPECT_FALSE(asked_cluster({}, {}));
  EXPECT_FALSE(asked_cluster({}, machine_of(1, 0)));
  EXPECT_FALSE(asked_cluster({.step_ms = 5}, machine_of(1, 0)));
}

TEST(AskedCluster, IsThisMachinesGpusOnTheSlowestLinkOfTwo) {
  Machine machine = machine_of(4, 18);
  EXPECT_EQ(asked_cluster({}, machine)->ranks(), 4);
  EXPECT_EQ(asked_cluster({}, machine)->inside, nvlink(18));
  EXPECT_EQ(asked_cluster({}, machine)->cores, machine.cpu.usable_cores());
  machine.gpus.links[2].nvlinks = 4;
  EXPECT_EQ(asked_cluster({}, machine)->inside, nvlink(4));
  machine.gpus.links[3].path = GpuPath::Sys;
  EXPECT_EQ(asked_cluster({}, machine)->inside, pci_express());
}

TEST(AskedCluster, IsWhatTheFlagsSay) {
  const auto asked = asked_cluster({.hosts = 4,
                                    .gpus_per_host = 8,
                                    .link = HostLink::NvLink,
                                    .network_gbit = 200,
                                    .step_ms = 50,
                                    .batch_size = 12},
                                   {});
  ASSERT_TRUE(asked);
  EXPECT_EQ(asked->hosts, 4);
  EXPECT_EQ(asked->ranks_per_host, 8);
  EXPECT_EQ(asked->inside, nvlink(18));
  EXPECT_EQ(asked->cores, 64);  // eight for each GPU: this machine's are not theirs
  EXPECT_DOUBLE_EQ(asked->between.gigabytes_per_second, 20);
  EXPECT_EQ(asked->step->batch, 12);
  EXPECT_EQ(asked->step->ms, 50);
}

TEST(ScalingTable, OfAClusterGoesFromOneRankToAllOfThem) {
  const Cluster cluster{
      .hosts = 3, .ranks_per_host = 6, .inside = nvlink(4), .between = network(25)};
  std::vector<int> ranks;
  for (const ScalingRow& row : cluster_scaling("normal", cluster, {}).rows) {
    ranks.push_back(row.step.ranks);
    EXPECT_EQ(row.step.ranks, row.cluster.ranks());
  }
  EXPECT_EQ(ranks, (std::vector<int>{1, 2, 4, 6, 12, 18}));
}

TEST(ScalingTable, OnlyTheStepOfOneRankCanHaveBeenMeasured) {
  Cluster cluster{.ranks_per_host = 4, .inside = nvlink(4), .cores = 64};
  const std::string assumed = scaling_text(cluster_scaling("normal", cluster, {}));
  EXPECT_EQ(lines_with(assumed, "predicted").size(), 3U) << assumed;
  EXPECT_TRUE(lines_with(assumed, "measured").empty()) << assumed;
  cluster.step = MeasuredStep{.batch = 8, .ms = 123.4};
  const std::string known = scaling_text(cluster_scaling("normal", cluster, {}));
  EXPECT_EQ(lines_with(known, "predicted").size(), 2U) << known;
  const auto measured = lines_with(known, "measured");
  ASSERT_EQ(measured.size(), 1U) << known;
  EXPECT_NE(measured[0].find("123.4 ms"), std::string::npos) << known;
}

TEST(ScalingTable, OfUsualClustersHasTwoToSixtyFourOnEachLinkAllPredicted) {
  const ScalingTable table = usual_scaling("xtts-v2", {});
  ASSERT_EQ(table.rows.size(), 21U);
  const std::string text = scaling_text(table);
  EXPECT_EQ(lines_with(text, "predicted").size(), 21U) << text;
  for (const ScalingRow& row : table.rows) {
    EXPECT_GT(row.step.efficiency, 0.1);
    EXPECT_LT(row.step.efficiency, 1);
  }
  EXPECT_EQ(lines_with(text, "NVLink (NV18)  ").size(), 6U) << text;
  EXPECT_EQ(lines_with(text, "PCIe 4.0 x16  ").size(), 6U) << text;
  EXPECT_EQ(lines_with(text, "NVLink (NV18), 100 Gbit/s  ").size(), 3U) << text;
  EXPECT_NE(text.find("NVLink (NV18) 337.5 GB/s and 3 us a hop (assumed)"), std::string::npos);
}

TEST(ScalingTable, AFasterLinkIsNeverLessEfficient) {
  const auto rows = usual_scaling("normal", {.batch_size = 4}).rows;
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_GT(rows[i].step.efficiency, rows[i + 6].step.efficiency) << i;
    EXPECT_GT(rows[i + 6].step.efficiency, rows[i + 12].step.efficiency) << i;
  }
}

TEST(ScalingTable, TakesWhatIsAskedOfTheTraining) {
  const ScalingRequest request{
      .batch_size = 5, .accumulation = 2, .wire = Wire::Bf16, .shard_optimiser = true};
  const auto json = nlohmann::json::parse(scaling_json(usual_scaling("normal", request)));
  EXPECT_EQ(json["batch_size"], 5);
  EXPECT_EQ(json["accumulation"], 2);
  EXPECT_EQ(json["wire"], "bf16");
  EXPECT_EQ(json["shard_optimiser"], true);
  EXPECT_GT(json["rows"][0]["gather_ms"], 0.0);
  EXPECT_EQ(json["rows"][0]["origin"], "predicted");
  const auto plain = nlohmann::json::parse(scaling_json(usual_scaling("normal", {})));
  EXPECT_EQ(plain["rows"][0]["gather_ms"], 0.0);
  EXPECT_GT(plain["rows"][5]["sums_ms"], json["rows"][5]["sums_ms"]);
}

TEST(ScalingTable, OfTheCpuWantsAMeasuredStep) {
  Cluster cluster{.ranks_per_host = 2, .cores = 2, .model_on_cores = true};
  cluster.inside = {.name = "loopback", .gigabytes_per_second = 1, .measured = true};
  EXPECT_THROW(cluster_scaling("tiny", cluster, {}), ConfigError);
  cluster.step = MeasuredStep{.batch = 4, .ms = 200, .core_ms = 240};
  cluster.parameters = 1'000'000;
  const ScalingTable table = cluster_scaling("tiny", cluster, {});
  EXPECT_EQ(table.training.batch, 4);
  EXPECT_EQ(table.training.parameters, 1'000'000);
  EXPECT_DOUBLE_EQ(table.training.step.core_clip_ms, 60);
  EXPECT_DOUBLE_EQ(table.rows[0].step.step_ms, 200);
  EXPECT_DOUBLE_EQ(table.rows[1].step.step_ms, 240);  // 480 core-milliseconds on two cores
}

}  // namespace
}  // namespace myxtts::scaling_table_test
