// SPDX-License-Identifier: Apache-2.0
#include "synth/cpu/vector_math.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.h"

namespace myxtts::vector_math_test {
namespace {

std::vector<float> noise(const char* name, std::size_t count) {
  const RandomStream stream(1, name);
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<float>(stream.normal(i));
  return values;
}

// Widths that fill no panel and no vector, and numbers of rows around those done at once.
TEST(VectorMath, MultipliesAsThePlainSumDoes) {
  for (const std::size_t in : {1U, 24U, 129U}) {
    for (const std::size_t rows : {1U, 3U, 4U, 9U}) {
      constexpr std::size_t kPanels = 3;
      const auto panels = noise("panels", kPanels * in * kPanel);
      const auto bias = noise("bias", kPanels * kPanel);
      auto x = noise("x", rows * in);
      const auto before = noise("y", rows * kPanels * kPanel);
      for (const Result result : {Result::Write, Result::Add}) {
        auto y = before;
        multiply({panels.data(), bias.data(), in, kPanels}, {x.data(), in, rows},
                 {y.data(), kPanels * kPanel, rows}, 1, kPanels, result);
        for (std::size_t row = 0; row < rows; ++row) {
          for (std::size_t c = 0; c < kPanels * kPanel; ++c) {
            const std::size_t at = row * kPanels * kPanel + c;
            double sum = bias[c] + (result == Result::Add ? before[at] : 0.0F);
            for (std::size_t i = 0; i < in; ++i) {
              sum += static_cast<double>(x[row * in + i]) *
                     panels[(c / kPanel * in + i) * kPanel + c % kPanel];
            }
            EXPECT_NEAR(y[at], c < kPanel ? before[at] : sum, 2e-5)
                << in << " " << rows << " " << c;
          }
        }
      }
    }
  }
}

TEST(VectorMath, NormalisesEveryWidth) {
  for (const std::size_t width : {5U, 16U, 48U, 100U}) {
    auto x = noise("x", width);
    for (float& value : x) value = value * 3.0F + 7.0F;
    const auto weight = noise("weight", width);
    const auto bias = noise("bias", width);
    std::vector<float> y(width);
    normalise(x.data(), y.data(), weight.data(), bias.data(), width);
    double mean = 0.0;
    double square = 0.0;
    for (const float value : x) mean += value / static_cast<double>(width);
    for (const float value : x) square += (value - mean) * (value - mean);
    for (std::size_t i = 0; i < width; ++i) {
      const double expected =
          (x[i] - mean) / std::sqrt(square / static_cast<double>(width) + 1e-5) * weight[i] +
          bias[i];
      EXPECT_NEAR(y[i], expected, 1e-5) << width;
    }
  }
}

TEST(VectorMath, GeluIsTheTanhForm) {
  std::vector<float> x;
  for (double value = -12.0; value <= 12.0; value += 0.0137) x.push_back(static_cast<float>(value));
  x.insert(x.end(), {-1000.0F, -90.0F, 90.0F, 1000.0F});
  auto y = x;
  gelu(y.data(), y.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double value = x[i];
    const double inner =
        std::sqrt(2.0 / 3.14159265358979) * (value + 0.044715 * value * value * value);
    EXPECT_NEAR(y[i], 0.5 * value * (1.0 + std::tanh(inner)),
                4e-7 * std::max(1.0, std::abs(value)));
  }
}

// Lengths within and at the end of a block of keys; widths of a part of a vector and of several.
TEST(VectorMath, AttendsAsTheFormulaSays) {
  for (const std::size_t width : {5U, 24U, 64U, 80U}) {
    for (const std::size_t length : {1U, 16U, 17U, 50U}) {
      const std::size_t value_stride = round_up(width, kKeyBlock);
      std::vector<float> keys(round_up(length, kKeyBlock) * width);
      std::vector<float> values(length * value_stride);
      const HeadCache cache{keys.data(), values.data(), width};
      const auto k = noise("k", length * width);
      const auto v = noise("v", length * width);
      const auto q = noise("q", width);
      for (std::size_t p = 0; p < length; ++p) store(cache, p, &k[p * width], &v[p * width]);
      std::vector<float> scores(round_up(length, kKeyBlock));
      std::vector<float> out(value_stride);
      attend(cache, q.data(), length, scores.data(), out.data());

      std::vector<double> shares(length, 0.0);
      double total = 0.0;
      for (std::size_t p = 0; p < length; ++p) {
        for (std::size_t i = 0; i < width; ++i)
          shares[p] += static_cast<double>(q[i]) * k[p * width + i];
      }
      const double most = *std::max_element(shares.begin(), shares.end());
      for (double& share : shares) total += share = std::exp(share - most);
      for (std::size_t i = 0; i < width; ++i) {
        double expected = 0.0;
        for (std::size_t p = 0; p < length; ++p) expected += shares[p] / total * v[p * width + i];
        EXPECT_NEAR(out[i], expected, 2e-6) << width << " " << length;
      }
    }
  }
}

}  // namespace
}  // namespace myxtts::vector_math_test
