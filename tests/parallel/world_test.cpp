// SPDX-License-Identifier: Apache-2.0
#include "parallel/world.h"

#include <map>

#include <gtest/gtest.h>

#include "base/error.h"

namespace myxtts::world_test {
namespace {

using Variables = std::map<std::string, std::string>;

std::optional<World> world(const Variables& variables) {
  return world_of([&](const std::string& name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  });
}

Variables with(Variables variables, const Variables& more) {
  for (const auto& [name, value] : more) variables[name] = value;
  return variables;
}

const Variables kTorchrun{{"RANK", "5"},          {"WORLD_SIZE", "8"},
                          {"LOCAL_RANK", "1"},    {"LOCAL_WORLD_SIZE", "4"},
                          {"MASTER_ADDR", "ant"}, {"MASTER_PORT", "1234"}};
const Variables kOpenMpi{{"OMPI_COMM_WORLD_RANK", "2"},
                         {"OMPI_COMM_WORLD_SIZE", "3"},
                         {"OMPI_COMM_WORLD_LOCAL_RANK", "2"},
                         {"OMPI_COMM_WORLD_LOCAL_SIZE", "3"}};
const Variables kHydra{
    {"PMI_RANK", "2"}, {"PMI_SIZE", "3"}, {"MPI_LOCALRANKID", "2"}, {"MPI_LOCALNRANKS", "3"}};
// The third task of srun on two nodes, from a batch script on a third.
const Variables kSrun{{"SLURM_PROCID", "2"},
                      {"SLURM_STEP_NUM_TASKS", "3"},
                      {"SLURM_NTASKS", "3"},
                      {"SLURM_LOCALID", "0"},
                      {"SLURM_NODEID", "1"},
                      {"SLURM_STEP_TASKS_PER_NODE", "2,1"},
                      {"SLURM_STEP_NODELIST", "node[07-08]"},
                      {"SLURM_JOB_NODELIST", "node[06-08]"},
                      {"SLURM_LAUNCH_NODE_IPADDR", "10.0.0.6"},
                      {"SLURM_JOB_ID", "1234567"},
                      {"SLURM_STEP_ID", "2"}};

TEST(World, WithoutALauncherThereIsNone) {
  EXPECT_EQ(world({}), std::nullopt);
  EXPECT_EQ(world({{"MASTER_ADDR", "ant"}, {"LOCAL_RANK", "1"}}), std::nullopt);
}

TEST(World, IsWhatTorchrunSays) {
  const World expected{.rank = 5,
                       .size = 8,
                       .local_rank = 1,
                       .local_size = 4,
                       .address = "ant",
                       .port = 1234,
                       .restarts = 0};
  EXPECT_EQ(world(kTorchrun), expected);
  EXPECT_EQ(world(with(kTorchrun, {{"TORCHELASTIC_RESTART_COUNT", "3"}}))->restarts, 3);
}

TEST(World, OfOneProcessIsOneWhereTorchrunSaysSo) {
  EXPECT_EQ(world({{"RANK", "0"}, {"WORLD_SIZE", "1"}}), World{});
}

TEST(World, OfOneProcessIsNoneWhereMpirunOrSrunSaySo) {
  EXPECT_EQ(world({{"OMPI_COMM_WORLD_RANK", "0"},
                   {"OMPI_COMM_WORLD_SIZE", "1"},
                   {"OMPI_COMM_WORLD_LOCAL_RANK", "0"}}),
            std::nullopt);
  EXPECT_EQ(world({{"SLURM_PROCID", "0"}, {"SLURM_STEP_NUM_TASKS", "1"}}), std::nullopt);
}

TEST(World, WithoutAWordOnHostsEachRankIsTakenForTheOnlyOneOfItsHost) {
  const auto found = world({{"RANK", "2"}, {"WORLD_SIZE", "3"}, {"MASTER_ADDR", "ant"}});
  EXPECT_EQ(found->local_rank, 0);
  EXPECT_EQ(found->local_size, 1);
  EXPECT_EQ(found->port, 29500);
}

TEST(World, IsWhatMpirunSaysAndRankZeroIsHereWhereAllAre) {
  const World expected{.rank = 2, .size = 3, .local_rank = 2, .local_size = 3};
  EXPECT_EQ(world(kOpenMpi), expected);
  EXPECT_EQ(world(kHydra), expected);
  EXPECT_EQ(world(with(kOpenMpi, {{"MASTER_ADDR", "ant"}, {"MASTER_PORT", "7"}}))->address, "ant");
}

TEST(World, OfMpirunIsNotThatOfTheSrunWhichStartsItsHelpers) {
  EXPECT_EQ(world(with(kSrun, kOpenMpi))->local_size, 3);
  EXPECT_EQ(world(with(kSrun, kHydra))->local_size, 3);
}

TEST(World, OfSrunKnowsItsHostsAndAPortOfItsOwn) {
  const World expected{.rank = 2,
                       .size = 3,
                       .local_rank = 0,
                       .local_size = 1,
                       .address = "node07",
                       .port = 24569,
                       .restarts = 0};
  EXPECT_EQ(world(kSrun), expected);
  const auto here = with(kSrun, {{"SLURM_LOCALID", "2"}, {"SLURM_STEP_TASKS_PER_NODE", "1,3"}});
  EXPECT_EQ(world(here)->local_size, 3);
  EXPECT_EQ(world(here)->address, "127.0.0.1") << "all are on this host";
}

TEST(World, OfSrunIsThatOfTheTaskAlsoWhereSrunGivesPmiToo) {
  EXPECT_EQ(world(with(kSrun, {{"PMI_RANK", "2"}, {"PMI_SIZE", "3"}}))->address, "node07");
}

TEST(World, ABatchScriptOfSeveralTasksIsOneProcess) {
  EXPECT_EQ(world({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "4"}, {"SLURM_LOCALID", "0"}}),
            std::nullopt);
}

TEST(World, WhatIsSetByHandWinsOverEveryLauncher) {
  EXPECT_EQ(world(with(with(kSrun, kOpenMpi), kTorchrun)), world(kTorchrun));
}

TEST(World, GoesToTheRanksAsTheVariablesThatSayIt) {
  const World before{.rank = 1,
                     .size = 3,
                     .local_rank = 1,
                     .local_size = 3,
                     .address = "ant",
                     .port = 17,
                     .restarts = 2};
  Variables variables;
  for (const std::string& text : variables_of(before)) {
    variables[text.substr(0, text.find('='))] = text.substr(text.find('=') + 1);
  }
  EXPECT_EQ(world(variables), before);
}

struct Wrong {
  Variables variables;
  std::vector<std::string> words;  // of the sentence
};

TEST(World, AnErrorNamesTheVariableItsValueAndWhatIsAllowed) {
  const std::vector<Wrong> wrongs{
      {{{"RANK", "1"}}, {"RANK is '1'", "WORLD_SIZE is not set"}},
      {{{"WORLD_SIZE", "2"}}, {"WORLD_SIZE is '2'", "RANK is not set"}},
      {with(kTorchrun, {{"RANK", "8"}}), {"RANK is '8'", "from 0 to 7", "WORLD_SIZE is 8"}},
      {with(kTorchrun, {{"RANK", "-1"}}), {"RANK is '-1'", "from 0 to 7"}},
      {with(kTorchrun, {{"RANK", "one"}}), {"RANK is 'one'", "whole number"}},
      {with(kTorchrun, {{"RANK", ""}}), {"RANK is ''"}},
      {with(kTorchrun, {{"WORLD_SIZE", "0"}}), {"WORLD_SIZE is '0'", "from 1"}},
      {with(kTorchrun, {{"LOCAL_RANK", "4"}}),
       {"LOCAL_RANK is '4'", "from 0 to 3", "LOCAL_WORLD_SIZE is 4"}},
      {with(kTorchrun, {{"LOCAL_WORLD_SIZE", "9"}}), {"LOCAL_WORLD_SIZE is '9'", "from 1 to 8"}},
      {with(kTorchrun, {{"MASTER_PORT", "70000"}}), {"MASTER_PORT is '70000'", "from 1 to 65535"}},
      {with(kTorchrun, {{"TORCHELASTIC_RESTART_COUNT", "x"}}), {"TORCHELASTIC_RESTART_COUNT"}},
      {{{"RANK", "0"}, {"WORLD_SIZE", "2"}}, {"rank 0 of 2", "MASTER_ADDR", "MASTER_ADDR=10"}},
      {with(kOpenMpi, {{"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}}), {"OMPI_COMM_WORLD_LOCAL_RANK"}},
      {with(kOpenMpi, {{"OMPI_COMM_WORLD_LOCAL_RANK", "0"}, {"OMPI_COMM_WORLD_LOCAL_SIZE", "1"}}),
       {"mpirun: -x MASTER_ADDR"}},
      {with(kSrun, {{"SLURM_PROCID", "3"}}), {"SLURM_PROCID is '3'", "SLURM_STEP_NUM_TASKS is 3"}},
  };
  for (const Wrong& wrong : wrongs) {
    try {
      world(wrong.variables);
      ADD_FAILURE() << "nothing was thrown for " << wrong.words.front();
    } catch (const ConfigError& error) {
      for (const std::string& words : wrong.words) {
        EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
      }
    }
  }
}

}  // namespace
}  // namespace myxtts::world_test
