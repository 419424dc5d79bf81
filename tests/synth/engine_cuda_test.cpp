// SPDX-License-Identifier: Apache-2.0
#include "synth/decode_engine.h"

#include <vector>

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "device/cuda_plugin.h"
#include "synth/small_engine.h"

// The GPU's engine beside the CPU's.

namespace myxtts::engine_cuda_test {
namespace {

const c10::Device kGpu{c10::kCUDA, 0};

class EngineCuda : public SmallEngine {
 protected:
  // Before the members: LibTorch looks for CUDA once, when it is first asked for anything.
  static void SetUpTestSuite() { cuda_plugin(); }

  void SetUp() override {
    if (cuda_plugin().backend == nullptr) {
      GTEST_SKIP() << "no CUDA device here: " << cuda_plugin().reason;
    }
  }

  std::unique_ptr<DecodeEngine> on_gpu(const DecodeCapacity& capacity) const {
    return make_cuda_engine(config_, weights_, capacity,
                            {.precision = DecodePrecision::Fp32, .method = DecodeMethod::Steps});
  }

  std::unique_ptr<DecodeEngine> on_cpu(const DecodeCapacity& capacity) const {
    return make_decode_engine(config_, weights_, capacity, c10::kCPU);
  }

  static double difference(const at::Tensor& a, const at::Tensor& b) {
    return (a.to(at::kCPU) - b.to(at::kCPU)).abs().max().item<double>();
  }

  const std::vector<std::int64_t> short_text_ = {3, 4, 5};
  const std::vector<std::int64_t> long_text_ = {9, 8, 7, 6, 5, 4, 3, 2, 1, 10, 11};
};

TEST_F(EngineCuda, WritesTheCpusCodesGreedyAndDrawn) {
  const std::vector<DecodePrefix> rows = {prefix(short_text_, 4), prefix(long_text_, 5)};
  const auto cpu = on_cpu({.rows = 2, .codes = 60});
  const auto gpu = on_gpu({.rows = 2, .codes = 60});
  for (const bool greedy : {true, false}) {
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
      const SamplingSettings settings{.greedy = greedy, .seed = seed};
      const auto wanted = cpu->generate(rows, settings, {});
      const auto found = gpu->generate(rows, settings, {});
      for (std::size_t row = 0; row < rows.size(); ++row) {
        EXPECT_EQ(found[row].codes, wanted[row].codes) << "row " << row << " seed " << seed;
        EXPECT_EQ(found[row].stopped, wanted[row].stopped);
        ASSERT_EQ(found[row].states.sizes(), wanted[row].states.sizes());
        EXPECT_LE(difference(found[row].states, wanted[row].states), 1e-3);
      }
    }
  }
}

TEST_F(EngineCuda, StepsAndReorderedRowsAreTheCpus) {
  const std::vector<DecodePrefix> rows = {prefix(short_text_), prefix(long_text_),
                                          prefix(long_text_)};
  const auto cpu = on_cpu({.rows = 3});
  const auto gpu = on_gpu({.rows = 3});
  const auto compare = [&](const char* when) {
    EXPECT_LE(difference(gpu->logits(), cpu->logits()), 1e-3) << when;
    EXPECT_LE(difference(gpu->states(), cpu->states()), 1e-3) << when;
  };
  for (DecodeEngine* engine : {cpu.get(), gpu.get()}) engine->begin(rows);
  compare("at the beginning");
  const std::vector<std::vector<std::int64_t>> from = {{1, 1, 0}, {2, 0, 1}, {0, 0, 0}};
  for (std::size_t step = 0; step < from.size(); ++step) {
    const auto code = static_cast<std::int64_t>(step);
    for (DecodeEngine* engine : {cpu.get(), gpu.get()}) {
      engine->step(std::vector<std::int64_t>{10 + code, 20 + code, 30 + code});
      engine->reorder(from[step]);
      engine->step(std::vector<std::int64_t>{40 + code, 50 + code, 60 + code});
    }
    compare("after a reordering");
  }
}

TEST_F(EngineCuda, RowsThatComeAndGoHaveTheCodesTheyHaveAlone) {
  const auto gpu = on_gpu({.rows = 5, .codes = 40});
  expect_company_changes_nothing(*gpu, 100);
}

TEST_F(EngineCuda, AListenerHearsEveryFewCodesAndCanEndIt) {
  const std::vector<DecodePrefix> rows = {prefix(short_text_)};
  const auto gpu = on_gpu({.rows = 1, .codes = 50});
  std::vector<std::size_t> heard;
  const auto whole =
      gpu->generate(rows, {.seed = 2}, {.every = 7, .hear = [&](const RowSoFar& row) {
                                          heard.push_back(row.codes.size());
                                          EXPECT_EQ(row.states.size(0), std::ssize(row.codes));
                                          return true;
                                        }});
  const auto count = whole[0].codes.size();
  ASSERT_GT(count, 14U);
  std::vector<std::size_t> wanted;
  for (std::size_t i = 7; i < count; i += 7) wanted.push_back(i);
  wanted.push_back(count);
  EXPECT_EQ(heard, wanted);
  const auto cut = gpu->generate(rows, {.seed = 2}, {.every = 7, .hear = [](const RowSoFar& row) {
                                                       return row.codes.size() < 14;
                                                     }});
  ASSERT_GE(cut[0].codes.size(), 14U);
  EXPECT_LE(cut[0].codes.size(), count);
  EXPECT_TRUE(std::equal(cut[0].codes.begin(), cut[0].codes.end(), whole[0].codes.begin()));
  EXPECT_EQ(gpu->generate(rows, {.seed = 2}, {})[0].codes, whole[0].codes);
}

}  // namespace
}  // namespace myxtts::engine_cuda_test
