// SPDX-License-Identifier: Apache-2.0
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <string>

namespace {

// LibTorch seeds its default generator from the machine's entropy: a test that draws from it would
// be another test in each run. Here each begins with the same numbers, or with those of
// MYXTTS_TEST_SEED, which shows what passes by luck alone.
class SeededTests : public testing::EmptyTestEventListener {
  void OnTestStart(const testing::TestInfo& /*test*/) override { at::manual_seed(seed_); }

  static std::uint64_t chosen_seed() {
    const char* text = std::getenv("MYXTTS_TEST_SEED");
    return text != nullptr ? std::stoull(text) : 1;
  }

  std::uint64_t seed_ = chosen_seed();
};

// One thread, whatever the machine has: sums are then added in one order everywhere, and tests that
// run beside each other do not wait for each other's threads. OMP_NUM_THREADS asks for another
// number.
void choose_threads() {
  if (std::getenv("OMP_NUM_THREADS") == nullptr) at::set_num_threads(1);
}

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  choose_threads();
  testing::UnitTest::GetInstance()->listeners().Append(new SeededTests);  // which takes it over
  return RUN_ALL_TESTS();
}
