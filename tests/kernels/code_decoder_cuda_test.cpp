// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstdint>
#include <memory>
#include <vector>

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/random.h"
#include "device/cuda_plugin.h"
#include "random_network.h"
#include "reference_decoder.h"

// The kernels against the reference on the CPU.

namespace myxtts::test::code_decoder_cuda_test {
namespace {

const c10::Device kGpu{c10::kCUDA, 0};
const c10::Device kCpu{c10::kCPU};

class CodeDecoderCuda : public ::testing::Test {
 protected:
  void SetUp() override {
    if (cuda_plugin().backend == nullptr) {
      GTEST_SKIP() << "no CUDA device here: " << cuda_plugin().reason;
    }
  }
};

struct Method {
  DecodePrecision precision;
  DecodeMethod method;
};
constexpr Method kExact{DecodePrecision::Fp32, DecodeMethod::Steps};
constexpr Method kSteps{DecodePrecision::Bf16, DecodeMethod::Steps};
constexpr Method kFused{DecodePrecision::Bf16, DecodeMethod::Fused};

// Two decoders with the same network and prefixes, one on each device.
struct Pair {
  Pair(const RandomNetwork& network, const Method& method)
      : on_gpu(network.on(kGpu)),
        cpu(make_reference_decoder(network.shape(), network.view())),
        gpu(make_cuda_code_decoder(
            {.shape = network.shape(), .precision = method.precision, .method = method.method},
            on_gpu.view())) {}

  void start(const RandomNetwork& network, std::int64_t row, std::int64_t prefix,
             const SamplingRule& rule) {
    network.load_prefix(*cpu, row, prefix, kCpu);
    network.load_prefix(*gpu, row, prefix, kGpu);
    cpu->start(row, prefix, rule);
    gpu->start(row, prefix, rule);
  }

  RandomNetwork on_gpu;
  std::unique_ptr<CodeDecoder> cpu;
  std::unique_ptr<CodeDecoder> gpu;
};

at::Tensor on_cpu(const float* data, std::vector<std::int64_t> shape, c10::Device device) {
  return at::from_blob(const_cast<float*>(data), shape, at::device(device).dtype(at::kFloat))
      .to(kCpu)
      .clone();
}

double relative_error(const at::Tensor& found, const at::Tensor& wanted) {
  return ((found - wanted).norm() / wanted.norm()).item<double>();
}

CodeDecoderShape small_shape(std::int64_t rows) {
  return {.layers = 3,
          .width = 96,
          .heads = 4,
          .ids = 130,
          .positions = 64,
          .start = 128,
          .stop = 129,
          .rows = rows,
          .capacity = 128,
          .most_codes = 60};
}

CodeDecoderShape public_shape(std::int64_t layers, std::int64_t rows) {
  return {.layers = layers, .rows = rows};
}

// Feeds both the same codes, so that a near tie cannot lead them apart.
void expect_equal_states(const RandomNetwork& network, const Method& method,
                         const std::vector<std::int64_t>& prefixes, std::int64_t steps,
                         double tolerance) {
  Pair pair(network, method);
  const auto& shape = network.shape();
  const SamplingRule by_caller{.by_caller = true};
  for (std::size_t row = 0; row < prefixes.size(); ++row) {
    pair.start(network, static_cast<std::int64_t>(row), prefixes[row], by_caller);
  }
  const RandomStream random(5, "test/codes");
  double worst = 0;
  for (std::int64_t step = 0; step < steps; ++step) {
    pair.cpu->advance(1);
    pair.gpu->advance(1);
    pair.gpu->wait();
    for (std::size_t i = 0; i < prefixes.size(); ++i) {
      const auto row = static_cast<std::int64_t>(i);
      const auto wanted = on_cpu(pair.cpu->logits(row), {shape.ids}, kCpu);
      const auto found = on_cpu(pair.gpu->logits(row), {shape.ids}, kGpu);
      worst = std::max(worst, relative_error(found, wanted));
      ASSERT_LE(relative_error(found, wanted), tolerance) << "row " << row << " step " << step;
      const auto code =
          random.integer(static_cast<std::uint64_t>(row * 1000 + step), 0, shape.start - 1);
      pair.cpu->feed(row, code);
      pair.gpu->feed(row, code);
    }
  }
  for (std::size_t i = 0; i < prefixes.size(); ++i) {
    const auto row = static_cast<std::int64_t>(i);
    EXPECT_LE(relative_error(on_cpu(pair.gpu->latents(row), {steps, shape.width}, kGpu),
                             on_cpu(pair.cpu->latents(row), {steps, shape.width}, kCpu)),
              tolerance);
  }
  fmt::print("worst relative error of logits {:.2e}\n", worst);
}

TEST_F(CodeDecoderCuda, StepsInFp32EqualThePlainForm) {
  expect_equal_states({small_shape(1), 1}, kExact, {40}, 20, 1e-5);
  expect_equal_states({small_shape(3), 2}, kExact, {1, 40, 17}, 20, 1e-5);
}

TEST_F(CodeDecoderCuda, StepsInBf16AreCloseToThePlainForm) {
  expect_equal_states({small_shape(2), 3}, kSteps, {9, 50}, 20, 1e-2);
  expect_equal_states({public_shape(2, 1), 4}, kSteps, {150}, 6, 1e-2);
}

TEST_F(CodeDecoderCuda, TheFusedStepIsCloseToThePlainForm) {
  expect_equal_states({public_shape(2, 1), 5}, kFused, {150}, 8, 1e-2);
  expect_equal_states({public_shape(3, 1), 6}, kFused, {1}, 4, 1e-2);
  expect_equal_states({public_shape(2, 1), 7}, kFused, {442}, 4, 1e-2);
}

TEST_F(CodeDecoderCuda, TheFusedStepOfSeveralRowsIsCloseToThePlainForm) {
  expect_equal_states({public_shape(2, 3), 8}, kFused, {150, 1, 300}, 4, 1e-2);
  expect_equal_states({public_shape(2, 8), 9}, kFused, {5, 100, 129, 128, 127, 33, 400, 64}, 3,
                      1e-2);
  expect_equal_states({public_shape(1, 16), 10}, kFused,
                      {5, 100, 129, 128, 127, 33, 400, 64, 1, 2, 3, 256, 257, 300, 442, 11}, 3,
                      1e-2);
}

std::vector<std::int32_t> codes_of(CodeDecoder& decoder, std::int64_t row) {
  decoder.wait();
  const auto* codes = decoder.codes(row);
  return {codes, codes + decoder.progress(row).codes};
}

TEST_F(CodeDecoderCuda, DrawsEqualThePlainFormsUnderEveryRule) {
  const std::vector<SamplingRule> rules = {
      {.greedy = true},
      {},
      {.top_k = 0},
      {.top_p = 1.0F},
      {.repetition_penalty = 1.0F, .temperature = 1.0F, .top_k = 0, .top_p = 1.0F},
      {.repetition_penalty = 10.0F, .temperature = 1.5F, .top_k = 3, .top_p = 0.5F},
      {.top_k = 1},
      {.top_p = 0.01F}};
  for (std::size_t i = 0; i < rules.size(); ++i) {
    SamplingRule rule = rules[i];
    rule.seed = 17 + i;
    rule.stream = RandomStream(0, "test/rule").stream();
    rule.first_draw = std::uint64_t{i} << 32U;
    const RandomNetwork network(small_shape(1), 20 + i);
    Pair pair(network, kExact);
    pair.start(network, 0, 12, rule);
    pair.cpu->advance(60);
    pair.gpu->advance(60);
    EXPECT_EQ(codes_of(*pair.gpu, 0), codes_of(*pair.cpu, 0)) << "rule " << i;
    EXPECT_TRUE(pair.gpu->progress(0).finished);
  }
}

// The fused step's codes beside those of single kernels: the same rounding of weights and keys.
TEST_F(CodeDecoderCuda, TheFusedStepWritesTheCodesOfSingleKernels) {
  const RandomNetwork network(public_shape(4, 1), 31);
  const auto on_gpu = network.on(kGpu);
  std::vector<std::vector<std::int32_t>> codes;
  std::vector<at::Tensor> latents;
  for (const auto method : {DecodeMethod::Steps, DecodeMethod::Fused, DecodeMethod::Fused}) {
    const auto decoder = make_cuda_code_decoder(
        {.shape = network.shape(), .precision = DecodePrecision::Bf16, .method = method},
        on_gpu.view());
    network.load_prefix(*decoder, 0, 150, kGpu);
    decoder->start(0, 150, {.greedy = true});
    decoder->advance(602);
    codes.push_back(codes_of(*decoder, 0));
    latents.push_back(
        on_cpu(decoder->latents(0),
               {static_cast<std::int64_t>(codes.back().size()), network.shape().width}, kGpu));
  }
  std::size_t same = 0;
  while (same < std::min(codes[0].size(), codes[1].size()) && codes[0][same] == codes[1][same]) {
    ++same;
  }
  fmt::print("{} codes by single kernels, {} fused, the first {} equal\n", codes[0].size(),
             codes[1].size(), same);
  EXPECT_GE(same, 50U);
  EXPECT_EQ(codes[1], codes[2]) << "the fused step is not deterministic";
  EXPECT_TRUE(at::equal(latents[1], latents[2])) << "the fused step is not deterministic";
}

TEST_F(CodeDecoderCuda, ARowOfABatchIsWhatItIsAlone) {
  const RandomNetwork batch(public_shape(2, 16), 41);
  const auto on_gpu = batch.on(kGpu);
  const auto make = [&](std::int64_t rows) {
    CodeDecoderShape shape = batch.shape();
    shape.rows = rows;
    return make_cuda_code_decoder({.shape = shape, .method = DecodeMethod::Fused}, on_gpu.view());
  };
  const auto rule = [](std::int64_t row) {
    return SamplingRule{.seed = 3, .first_draw = static_cast<std::uint64_t>(row) << 32U};
  };
  const auto together = make(16);
  for (std::int64_t row = 0; row < 16; ++row) {
    batch.load_prefix(*together, row, 20 + 25 * row, kGpu);
    together->start(row, 20 + 25 * row, rule(row));
  }
  together->advance(100);
  together->wait();
  std::size_t equal = 0;
  for (std::int64_t row = 0; row < 16; row += 5) {
    // Loaded as row `row` of the batch was: prefixes depend on the row's number.
    const auto alone = make(row + 1);
    batch.load_prefix(*alone, row, 20 + 25 * row, kGpu);
    alone->start(row, 20 + 25 * row, rule(row));
    alone->advance(100);
    const auto a = codes_of(*alone, row);
    const auto b = codes_of(*together, row);
    while (equal < a.size() && equal < b.size() && a[equal] == b[equal]) ++equal;
    EXPECT_GE(equal, std::min<std::size_t>(20, a.size())) << "row " << row;
    fmt::print("row {}: {} of {} codes equal\n", row, equal, a.size());
    equal = 0;
  }
}

TEST_F(CodeDecoderCuda, ARowCanBeStartedAgainWhileOthersGoOn) {
  const RandomNetwork network(small_shape(2), 51);
  Pair pair(network, kExact);
  pair.start(network, 0, 10, {.greedy = true});
  pair.start(network, 1, 20, {.greedy = true});
  pair.cpu->advance(7);
  pair.gpu->advance(7);
  pair.start(network, 0, 30, {.greedy = true, .repetition_penalty = 2.0F});
  pair.cpu->advance(60);
  pair.gpu->advance(60);
  EXPECT_EQ(codes_of(*pair.gpu, 0), codes_of(*pair.cpu, 0));
  EXPECT_EQ(codes_of(*pair.gpu, 1), codes_of(*pair.cpu, 1));
}

TEST_F(CodeDecoderCuda, RowsAreReorderedWithTheirKeys) {
  const RandomNetwork network(small_shape(3), 61);
  Pair pair(network, kExact);
  const SamplingRule by_caller{.by_caller = true};
  for (std::int64_t row = 0; row < 3; ++row) pair.start(network, row, 10, by_caller);
  const std::vector<std::vector<std::int64_t>> from = {{0, 0, 1}, {2, 1, 0}, {1, 1, 1}};
  for (std::size_t step = 0; step < from.size(); ++step) {
    for (CodeDecoder* decoder : {pair.cpu.get(), pair.gpu.get()}) {
      decoder->advance(1);
      decoder->wait();
      decoder->reorder(from[step]);
      for (std::int64_t row = 0; row < 3; ++row) {
        decoder->feed(row, row * 5 + static_cast<std::int64_t>(step));
      }
    }
  }
  pair.cpu->advance(1);
  pair.gpu->advance(1);
  pair.gpu->wait();
  for (std::int64_t row = 0; row < 3; ++row) {
    EXPECT_LE(relative_error(on_cpu(pair.gpu->logits(row), {130}, kGpu),
                             on_cpu(pair.cpu->logits(row), {130}, kCpu)),
              1e-5);
  }
}

}  // namespace
}  // namespace myxtts::test::code_decoder_cuda_test
