// SPDX-License-Identifier: Apache-2.0
#include "train/decoder/training_windows.h"

#include <vector>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "model/network_specs.h"
#include "model/vocoder.h"
#include "support/formula_weights.h"
#include "support/golden.h"
#include "support/small_networks.h"

namespace myxtts::test::frame_windows_test {
namespace {

constexpr std::int64_t kFrames = 32;

// Windows of three clips of 40, 9 and 605 latents that lie one after another: at a clip's
// beginning, in its middle and at its end.
void expect_windows_of_frames(const DecoderConfig& config) {
  const Decoder decoder(config, formula_weights(decoder_specs(config), "windows."), "");
  const std::vector<std::int64_t> lengths = {40, 9, 605};
  at::manual_seed(1);
  const auto latents = at::randn({654, config.input_dim});
  std::int64_t first_latent = 0;
  for (const auto length : lengths) {
    const auto whole = decoder.frames(latents.narrow(0, first_latent, length).unsqueeze(0));
    const std::int64_t last = whole.size(2) - kFrames;
    const std::vector<std::int64_t> firsts = {0, 1, last / 2, last - 1, last};
    const auto count = static_cast<std::int64_t>(firsts.size());
    const auto windows =
        frame_windows(config, latents, at::full({count}, first_latent, at::kLong),
                      at::full({count}, length, at::kLong),
                      at::tensor(firsts).unsqueeze(1) + at::arange(kFrames, at::kLong));
    for (std::int64_t i = 0; i < count; ++i) {
      const auto wanted = whole[0].narrow(1, firsts[static_cast<std::size_t>(i)], kFrames);
      EXPECT_LE(relative_error(windows[i], wanted), 1e-6)
          << "frame " << firsts[static_cast<std::size_t>(i)] << " of " << length << " latents";
    }
    first_latent += length;
  }
}

TEST(FrameWindows, AreTheFramesOfWholeClipsCutOut) {
  expect_windows_of_frames(small_decoder());
}

TEST(FrameWindows, AreSoWithoutASecondStretchingToo) {
  auto config = small_decoder();
  config.output_sample_rate = config.input_sample_rate;
  expect_windows_of_frames(config);
}

TEST(FrameWindows, BehindAClipsEndRepeatItsLastFrame) {
  const auto config = small_decoder();
  const auto latents = at::randn({6, config.input_dim});
  const auto windows =
      frame_windows(config, latents, at::zeros({1}, at::kLong), at::full({1}, 3, at::kLong),
                    at::arange(12, 20, at::kLong).unsqueeze(0));
  for (std::int64_t frame = 1; frame < 8; ++frame) {
    EXPECT_LE(max_abs_difference(windows[0].select(1, frame), latents[2]), 1e-6) << frame;
  }
}

}  // namespace
}  // namespace myxtts::test::frame_windows_test
