// SPDX-License-Identifier: Apache-2.0
#include "diagnose/scaling/cluster.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace myxtts::cluster_file_test {
namespace {

std::string refusal_of(const std::string& text) {
  try {
    parse_cluster(text, {});
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "none";
}

TEST(ClusterFile, SetsWhatItNamesAndLeavesTheRest) {
  const Cluster known{.hosts = 3, .ranks_per_host = 4, .inside = nvlink(18), .cores = 64};
  const Cluster found = parse_cluster(R"({"ranks_per_host": 8, "crowding": 1.25,
      "between": {"name": "ours", "gigabytes_per_second": 22.5, "latency_us": 4}})",
                                      known);
  EXPECT_EQ(found.hosts, 3);
  EXPECT_EQ(found.ranks_per_host, 8);
  EXPECT_EQ(found.inside, known.inside);
  EXPECT_EQ(
      found.between,
      (RankLink{.name = "ours", .gigabytes_per_second = 22.5, .latency_us = 4, .measured = true}));
  EXPECT_EQ(found.cores, 64);
  EXPECT_EQ(found.crowding, 1.25);
  EXPECT_TRUE(found.hierarchical);
  EXPECT_FALSE(found.step);
  EXPECT_FALSE(found.parameters);
}

TEST(ClusterFile, RanksOnTheCpuHaveOneRing) {
  const Cluster found = parse_cluster(R"({"device": "cpu", "cores": 2, "parameters": 1234567,
      "inside": {"gigabytes_per_second": 1.5, "core_ms_per_gigabyte": 900},
      "step": {"batch": 4, "ms": 250.5, "update_ms": 3, "core_ms": 300, "spread": 0.01}})",
                                      {});
  EXPECT_TRUE(found.model_on_cores);
  EXPECT_FALSE(found.hierarchical);
  EXPECT_EQ(found.inside.core_ms_per_gigabyte, 900);
  EXPECT_EQ(found.parameters, 1'234'567);
  ASSERT_TRUE(found.step);
  EXPECT_EQ(found.step->batch, 4);
  EXPECT_EQ(found.step->ms, 250.5);
  EXPECT_EQ(found.step->update_ms, 3);
  EXPECT_EQ(found.step->core_ms, 300);
  EXPECT_EQ(found.step->spread, 0.01);
}

TEST(ClusterFile, NamesTheKeyThatIsWrong) {
  EXPECT_EQ(refusal_of(R"({"hosts": 0})"),
            "The cluster's hosts is 0; it must be a whole number from 1 to 4096.");
  EXPECT_EQ(refusal_of(R"({"hosts": 1.5})"),
            "The cluster's hosts is 1.5; it must be a whole number from 1 to 4096.");
  EXPECT_EQ(refusal_of(R"({"inside": {"gigabytes_per_second": 0}})"),
            "The cluster's inside.gigabytes_per_second is 0; it must be a number above 0.");
  EXPECT_EQ(refusal_of(R"({"device": "tpu"})"),
            "The cluster's device is \"tpu\"; it must be \"cpu\" or \"gpu\".");
  EXPECT_EQ(refusal_of(R"({"step": {"batch": 3}})"),
            "The cluster's step has no ms: milliseconds of one rank's.");
  EXPECT_NE(refusal_of(R"({"step": {"ms": 3, "update_ms": 3}})").find("step.update_ms is 3"),
            std::string::npos);
  EXPECT_EQ(refusal_of(R"({"inside": {"gbit": 3}})"),
            "The cluster has no inside.gbit; it knows core_ms_per_gigabyte, gigabytes_per_second, "
            "latency_us, name.");
  EXPECT_EQ(refusal_of("[]"), "The cluster's file is []; it must be an object.");
  EXPECT_NE(refusal_of("{").find("is no JSON"), std::string::npos);
}

}  // namespace
}  // namespace myxtts::cluster_file_test
