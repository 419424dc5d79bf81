// SPDX-License-Identifier: Apache-2.0
#include "run/metrics_log.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "base/error.h"
#include "support/temporary_folder.h"

namespace myxtts {
namespace {

using test::contents_of;
using test::TemporaryFolder;

TEST(MetricsLog, WritesOneLineForEachMoment) {
  const TemporaryFolder folder;
  MetricsLog log(folder / "metrics.jsonl", 0);
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
    MetricsLog log(folder / "metrics.jsonl", 0);
    log.add("train", 1, {{"loss", 2.0}});
    position = log.position();
    log.add("train", 2, {{"loss", 9.0}});
  }
  MetricsLog log(folder / "metrics.jsonl", position);
  log.add("train", 2, {{"loss", 1.0}});
  EXPECT_EQ(contents_of(folder / "metrics.jsonl"),
            "{\"event\":\"train\",\"step\":1,\"loss\":2.0}\n"
            "{\"event\":\"train\",\"step\":2,\"loss\":1.0}\n");
}

TEST(MetricsLog, ALogThatLostItsPastIsRefused) {
  const TemporaryFolder folder;
  EXPECT_THROW(MetricsLog(folder / "metrics.jsonl", 100), DataError);
}

}  // namespace
}  // namespace myxtts
