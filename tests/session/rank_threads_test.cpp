// SPDX-License-Identifier: Apache-2.0
#include "session/ranks/rank_start.h"

#include <chrono>

#include <gtest/gtest.h>

#include "base/error.h"
#include "session/plan_run.h"
#include "support/corpus_maker.h"
#include "support/temporary_folder.h"

namespace myxtts::rank_threads_test {
namespace {

using namespace std::chrono_literals;

EffectiveConfig settings_for(const std::filesystem::path& folder, std::int64_t ranks) {
  EffectiveConfig settings;
  RunConfig& config = settings.values;
  config.data.train_data = {
      {.path = make_corpus(folder / "corpus", CorpusLayout::LjSpeech, test::made_clips(16))}};
  config.data.val_fraction = 0.0;
  config.devices.device = DeviceKind::Cpu;
  config.train.model_size = "tiny";
  config.train.batch_size = 2;
  config.train.epochs = 1000;
  config.train.max_steps = 1000;
  config.parallel.ranks = ranks;
  config.parallel.rank_timeout = 600;
  config.run.checkpoint_dir = folder / "run";
  return settings;
}

struct Failed {
  std::string sentence;
  std::chrono::steady_clock::duration time;
};

// One rank may take `cap` bytes alone.
Failed train_with_cap(std::size_t rank, std::int64_t cap) {
  const test::TemporaryFolder folder;
  const EffectiveConfig settings = settings_for(folder.path(), 3);
  auto plans = plan_ranks(settings.values, sizes_to_train(settings.values.train));
  plans.at(rank).model.memory_cap_bytes = cap;
  const RunDirectory directory(settings.values.run.checkpoint_dir);
  CheckpointStore checkpoints(directory.path());
  RunInputs inputs(settings, plans, directory.path());
  RankThreads ranks(inputs, checkpoints);
  const auto began = std::chrono::steady_clock::now();
  try {
    ranks.train();
  } catch (const DeviceError& error) {
    return {error.what(), std::chrono::steady_clock::now() - began};
  }
  return {};
}

// While the model is placed, and in the first step. The others wait in sums, each for another one:
// a rank that is not told of it would wait for --rank-timeout.
TEST(RankThreads, WhatOneRankFailsWithEndsAllSoonAndIsTheCauseThatIsTold) {
  constexpr std::int64_t kMegabyte = 1 << 20;
  for (const std::size_t rank : {0U, 2U}) {
    for (const std::int64_t cap : {1 * kMegabyte, 64 * kMegabyte}) {
      const Failed failed = train_with_cap(rank, cap);
      EXPECT_NE(failed.sentence.find("may have"), std::string::npos)
          << rank << ": " << failed.sentence;
      EXPECT_EQ(failed.sentence.find("The run ends, as"), std::string::npos) << failed.sentence;
      EXPECT_LT(failed.time, 100s);
    }
  }
}

}  // namespace
}  // namespace myxtts::rank_threads_test
