// SPDX-License-Identifier: Apache-2.0
#include <fstream>

#include <unistd.h>

#include <gtest/gtest.h>

#include "pipeline/pipeline_bench.h"

namespace myxtts::pipeline_memory_test {
namespace {

double resident_bytes() {
  std::ifstream file("/proc/self/statm");
  double all = 0;
  double resident = 0;
  file >> all >> resident;
  return resident * static_cast<double>(sysconf(_SC_PAGESIZE));
}

TEST(PipelineMemory, IsFlatOverTenThousandBatches) {
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "the sanitizer's own memory grows";
#endif
  test::MemoryCorpus corpus({.clips = 100, .longest = 40'000});
  test::FakeFeatures features(test::tiny_gpt().text_ids);
  test::FakePipeline pipeline(
      corpus, features, test::pipeline_options({.workers = 4, .buffer = 50, .end = std::nullopt}));
  pipeline.start({});
  double early = 0;  // after the warm-up
  double late = 0;
  for (int batch = 0; batch < 10'000; ++batch) {
    ASSERT_TRUE(pipeline.outlet().next().has_value());
    if (batch >= 1000 && batch < 2000) early += resident_bytes() / 1000;
    if (batch >= 9000) late += resident_bytes() / 1000;
  }
  RecordProperty("early_bytes", std::to_string(early));
  RecordProperty("late_bytes", std::to_string(late));
  EXPECT_LE(late, 1.01 * early);
}

}  // namespace
}  // namespace myxtts::pipeline_memory_test
