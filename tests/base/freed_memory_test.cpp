// SPDX-License-Identifier: Apache-2.0
#include "base/process.h"

#include <sys/resource.h>

#include <cstring>
#include <memory>

#include <gtest/gtest.h>

namespace myxtts::test::freed_memory_test {
namespace {

long page_faults() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_minflt;
}

TEST(FreedMemory, IsUsedAgainWithoutAskingTheSystem) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers bring an allocator of their own";
#endif
  constexpr std::size_t kBytes = std::size_t{4} << 20;  // 1,024 pages
  keep_freed_memory();
  const auto before = page_faults();
  for (int round = 0; round < 50; ++round) {
    const auto buffer = std::make_unique_for_overwrite<char[]>(kBytes);
    std::memset(buffer.get(), round, kBytes);
    ASSERT_EQ(buffer[kBytes / 2], static_cast<char>(round));
  }
  EXPECT_LT(page_faults() - before, 5 * 1024) << "of 50 times 1,024 pages";
}

}  // namespace
}  // namespace myxtts::test::freed_memory_test
