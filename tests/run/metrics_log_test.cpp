// SPDX-License-Identifier: Apache-2.0
#include "run/metrics_log.h"

#include <gtest/gtest.h>

#include <fstream>
#include <limits>
#include <string>

#include "base/error.h"
#include "support/small_disk.h"
#include "support/temporary_folder.h"

namespace myxtts::metrics_log_test {
namespace {

using test::contents_of;
using test::SmallDisk;
using test::TemporaryFolder;

TEST(MetricsLog, WritesOneLineForEachMoment) {
  const TemporaryFolder folder;
  MetricsLog log(folder / "metrics.jsonl");
  log.add("train", 1, {{"loss", 2.5}, {"lr", 5e-6}});
  log.add("validation", 1, {{"loss", std::numeric_limits<double>::quiet_NaN()}});
  EXPECT_EQ(contents_of(folder / "metrics.jsonl"),
            "{\"event\":\"train\",\"step\":1,\"loss\":2.5,\"lr\":5e-06}\n"
            "{\"event\":\"validation\",\"step\":1,\"loss\":null}\n");
}

TEST(MetricsLog, ResumingCutsWhatWasLoggedBeyondTheCheckpoint) {
  const TemporaryFolder folder;
  std::uint64_t position = 0;
  {
    MetricsLog log(folder / "metrics.jsonl");
    log.add("train", 1, {{"loss", 2.0}});
    position = log.position();
    log.add("train", 2, {{"loss", 9.0}});
  }
  MetricsLog log(folder / "metrics.jsonl", position, 1);
  log.add("train", 2, {{"loss", 1.0}});
  EXPECT_EQ(contents_of(folder / "metrics.jsonl"),
            "{\"event\":\"train\",\"step\":1,\"loss\":2.0}\n"
            "{\"event\":\"train\",\"step\":2,\"loss\":1.0}\n");
}

TEST(MetricsLog, LinesThatWereLateForTheCheckpointStay) {
  const TemporaryFolder folder;
  {
    MetricsLog log(folder / "metrics.jsonl");
    for (const std::int64_t step : {1, 2, 3}) log.add("train", step, {});
  }
  const MetricsLog log(folder / "metrics.jsonl", 0, 2);
  EXPECT_EQ(contents_of(folder / "metrics.jsonl"),
            "{\"event\":\"train\",\"step\":1}\n{\"event\":\"train\",\"step\":2}\n");
}

TEST(MetricsLog, ALogThatLostItsEndGoesOnWithWhatItHas) {
  const TemporaryFolder folder;
  const std::string whole = "{\"event\":\"train\",\"step\":1}\n";
  for (const std::string rest : {"{\"event\":\"tra", "", "{\"event\":\"train\",\"step\":2}"}) {
    std::ofstream(folder / "metrics.jsonl") << whole << rest;
    testing::internal::CaptureStderr();
    const MetricsLog log(folder / "metrics.jsonl", 100, 5);
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_NE(said.find("not what it was"), std::string::npos) << said;
    EXPECT_EQ(contents_of(folder / "metrics.jsonl"), whole);
    EXPECT_EQ(log.position(), whole.size());
  }
}

TEST(MetricsLog, ALineThatADiskRefusesLeavesNothingOfItself) {
  const SmallDisk disk(16);
  if (!disk.mounted()) GTEST_SKIP() << "this user may not mount a disk of 16 kB";
  MetricsLog log(disk / "metrics.jsonl");
  log.add("train", 1, {});
  const std::string before = contents_of(disk / "metrics.jsonl");
  std::ofstream(disk / "filler") << std::string(100'000, 'x');
  Metrics many;
  for (int i = 0; i < 2000; ++i) many.emplace_back("name" + std::to_string(i), 1.0);
  EXPECT_THROW(log.add("train", 2, many), DataError);
  EXPECT_EQ(contents_of(disk / "metrics.jsonl"), before);
  EXPECT_EQ(log.position(), before.size());
}

}  // namespace
}  // namespace myxtts::metrics_log_test
