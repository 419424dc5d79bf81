// SPDX-License-Identifier: Apache-2.0
#include "audio/resample.h"

#include <unistd.h>

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "support/formula_weights.h"
#include "support/golden.h"

namespace myxtts::test::clip_test {
namespace {

TEST(Clip, MixesDownToTheMeanOfTheChannels) {
  const auto mono = mix_down({.samples = {1.0F, 0.0F, 0.5F, -0.5F}, .channels = 2});
  EXPECT_LE(max_abs_difference(mono, at::tensor({0.5F, 0.0F})), 0.0);
}

// Clipping first would cut the peaks that resampling then rounds off.
TEST(Clip, ClipsAfterResampling) {
  const auto path =
      std::filesystem::temp_directory_path() / fmt::format("myxtts_clip.{}.wav", getpid());
  auto loud = at::where(formula_values("clip", {4800}) > 0, 1.0, -1.0).to(at::kFloat).contiguous();
  write_wav(path, {loud.const_data_ptr<float>(), 4800}, 48000);
  const auto stored = mix_down(read_audio(path));
  const auto resampled = Resampler(48000, 22050, at::kCPU)(stored);
  ASSERT_GT(resampled.abs().max().item<float>(), 1.05F) << "no peak goes beyond full scale";
  EXPECT_TRUE(read_clip(path, 22050).equal(resampled.clamp(-1, 1)));
  std::filesystem::remove(path);
}

// A few bytes of silence at a low rate are many at a high one.
TEST(Clip, OneThatWouldBecomeTooLongIsRefusedBeforeItTakesMemory) {
  const auto path =
      std::filesystem::temp_directory_path() / fmt::format("myxtts_long.{}.wav", getpid());
  write_wav(path, std::vector<float>(2000, 0.5F), 1000);
  EXPECT_THROW((void)read_clip(path, kMaxAudioSamples), DataError);
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace myxtts::test::clip_test
