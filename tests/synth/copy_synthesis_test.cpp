// SPDX-License-Identifier: Apache-2.0
#include "synth/copy_synthesis.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "train/starting_point.h"

namespace myxtts::copy_synthesis_test {
namespace {

OpenModel tiny_model() {
  return new_model(new_model_config("tiny", {.count = 40, .start = 3, .stop = 0}), 5);
}

at::Tensor clip_of(double seconds) {
  const auto t = at::arange(static_cast<std::int64_t>(seconds * 22050), at::kFloat) / 22050.0;
  return (t * 900.0).sin() * 0.3 * (1.0 + (t * 20.0).sin() * 0.5);
}

TEST(CopySynthesis, SaysAsManyCodesAsTheClipHasStrides) {
  const CopySynthesis copy(tiny_model(), at::kCPU);
  const std::vector<std::int64_t> text{4, 9, 12};
  for (const std::int64_t samples : {20480, 20481, 30000}) {
    const auto clip = clip_of(2.0).narrow(0, 0, samples);
    const auto codes = std::ssize(copy.codes_of(clip));
    EXPECT_EQ(codes, (samples + 1023) / 1024);
    const double seconds = static_cast<double>(copy(clip, text).size(0)) / 24000.0;
    EXPECT_NEAR(seconds, static_cast<double>(codes) * 1024.0 / 22050.0, 0.03);
  }
}

TEST(CopySynthesis, PieceByPieceItIsTheSameSound) {
  const CopySynthesis copy(tiny_model(), at::kCPU);
  const std::vector<std::int64_t> text{4, 9, 12};
  const auto clip = clip_of(3.5);
  const auto whole = copy(clip, text);
  const auto pieces = copy(clip, text, [] { return true; });
  ASSERT_EQ(pieces.sizes(), whole.sizes());
  EXPECT_GT(whole.abs().max().item<float>(), 0.0F);
  EXPECT_LT((pieces - whole).abs().max().item<float>(), 1e-5F);
}

TEST(CopySynthesis, EndsOnceNobodyWaits) {
  const CopySynthesis copy(tiny_model(), at::kCPU);
  int asked = 0;
  const std::vector<std::int64_t> text{3, 4};
  const auto copied = copy(clip_of(3.5), text, [&asked] { return ++asked < 3; });
  EXPECT_FALSE(copied.defined());
  EXPECT_EQ(asked, 3);
}

TEST(CopySynthesis, AClipTooShortForAVoiceIsRefused) {
  const CopySynthesis copy(tiny_model(), at::kCPU);
  EXPECT_THROW(copy(clip_of(0.2), {}), DataError);
}

}  // namespace
}  // namespace myxtts::copy_synthesis_test
