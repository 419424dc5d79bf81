// SPDX-License-Identifier: Apache-2.0
#include "parallel/world.h"

#include <gtest/gtest.h>

namespace myxtts::slurm_lists_test {
namespace {

TEST(SlurmLists, TheFirstHostIsFoundInEveryWayOfWritingThem) {
  EXPECT_EQ(first_host("gpu7"), "gpu7");
  EXPECT_EQ(first_host("gpu7,gpu9"), "gpu7");
  EXPECT_EQ(first_host("gpu[03-07,12],cpu1"), "gpu03");
  EXPECT_EQ(first_host("gpu[5,9-11]"), "gpu5");
  EXPECT_EQ(first_host("rack[2-3]-node[014-020].site"), "rack2-node014.site");
  EXPECT_EQ(first_host(""), "");
}

TEST(SlurmLists, TasksAreCountedNodeByNode) {
  const char* list = "4(x2),1,2(x3)";
  const int expected[] = {4, 4, 1, 2, 2, 2};
  for (int node = 0; node < 6; ++node) EXPECT_EQ(tasks_on_node(list, node), expected[node]) << node;
  EXPECT_EQ(tasks_on_node(list, 6), std::nullopt);
  EXPECT_EQ(tasks_on_node("3", 0), 3);
}

TEST(SlurmLists, AListThatIsNoneSaysNothing) {
  for (const char* list : {"", "x", "2(x", "2(x3", "2(xy)", "0", "-1", "2;3"}) {
    EXPECT_EQ(tasks_on_node(list, 1), std::nullopt) << list;
  }
}

}  // namespace
}  // namespace myxtts::slurm_lists_test
