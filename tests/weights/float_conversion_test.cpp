// SPDX-License-Identifier: Apache-2.0
#include "weights/dtype.h"

#include <cmath>
#include <cstdint>
#include <limits>

#include <gtest/gtest.h>

#include "weights/sample_files.h"

namespace myxtts::test::float_conversion_test {
namespace {

std::vector<float> converted(Dtype dtype, const std::vector<std::uint16_t>& bits) {
  std::vector<std::byte> buffer;
  const TensorView view = {
      dtype, {static_cast<std::int64_t>(bits.size())}, std::as_bytes(std::span(bits))};
  return numbers_of<float>(as_fp32(view, buffer));
}

TEST(FloatConversion, HalvesKeepTheirValueFromTheSmallestToInfinity) {
  const auto values = converted(
      Dtype::F16, {0x0000, 0x8000, 0x3c00, 0xc000, 0x7bff, 0x0001, 0x83ff, 0x0400, 0x7c00, 0xfc00});
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(values, (std::vector<float>{0.0F, -0.0F, 1.0F, -2.0F, 65504.0F, 0x1p-24F,
                                        -1023 * 0x1p-24F, 0x1p-14F, infinity, -infinity}));
  EXPECT_TRUE(std::signbit(values[1]));
  EXPECT_TRUE(std::isnan(converted(Dtype::F16, {0x7e00})[0]));
}

TEST(FloatConversion, BrainFloatsAreTheUpperHalfOfAFloat) {
  EXPECT_EQ(converted(Dtype::BF16, {0x3f80, 0xc040, 0x0001}),
            (std::vector<float>{1.0F, -3.0F, 0x1p-133F}));
}

TEST(FloatConversion, FloatsAreNotCopied) {
  const auto numbers = ramp(3);
  std::vector<std::byte> buffer;
  const TensorView view = {Dtype::F32, {3}, std::as_bytes(std::span(numbers))};
  EXPECT_EQ(as_fp32(view, buffer).bytes.data(), view.bytes.data());
  EXPECT_TRUE(buffer.empty());
}

}  // namespace
}  // namespace myxtts::test::float_conversion_test
