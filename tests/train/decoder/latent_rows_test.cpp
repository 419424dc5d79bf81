// SPDX-License-Identifier: Apache-2.0
#include "train/decoder/training_windows.h"

#include <vector>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "model/gpt.h"
#include "support/golden.h"
#include "support/training_batches.h"

namespace myxtts::test::latent_rows_test {
namespace {

struct Clips {
  std::vector<std::vector<std::int64_t>> texts = {{5, 6, 7}, {8, 9, 10, 11, 12}, {1}};
  std::vector<std::vector<std::int64_t>> codes = {{3, 4, 5, 6, 7, 8}, {9, 3}, {1, 2, 3, 4}};

  std::vector<GptClip> views() const {
    std::vector<GptClip> all;
    for (std::size_t i = 0; i < texts.size(); ++i) {
      all.push_back({.text = texts[i], .codes = codes[i]});
    }
    return all;
  }
};

// Padded to sizes, as batches for graphs are, and not.
const std::vector<RowSizes> kSizes = {
    {}, {.tokens = 96, .text_targets = 20, .audio_targets = 40, .longest = 40, .segments = 6}};

constexpr std::int64_t kSlots = 5;

TEST(LatentRows, GiveTheLatentsThatSpeakingTheCodesAndTheStopWouldLeave) {
  const auto config = small_gpt();
  const Gpt gpt(config, random_gpt_weights(config));
  const Clips clips;
  const auto mel = at::randn({kSlots, config.mel_bands, 24});
  const auto conditioning = gpt.conditioning(mel);

  // What synthesis computes: each clip alone, its stop among the codes.
  std::vector<at::Tensor> wanted;
  for (std::size_t i = 0; i < clips.texts.size(); ++i) {
    auto codes = clips.codes[i];
    codes.push_back(config.stop_audio);
    const GptClip clip = {.text = clips.texts[i], .codes = codes};
    const auto alone = to_batch(pack_latent_rows(config, {&clip, 1}), c10::kCPU);
    wanted.push_back(gpt.states(alone, conditioning.narrow(0, static_cast<std::int64_t>(i), 1)));
  }

  for (const auto& sizes : kSizes) {
    const auto trained =
        to_batch(pack_rows(config, clips.views(), PromptMask::None, sizes), c10::kCPU);
    const auto rows = latent_rows(config, trained, kSlots);
    const auto latents = gpt.states(rows.rows, conditioning);
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      const auto slot = static_cast<std::int64_t>(i);
      ASSERT_EQ(rows.counts[slot].item<std::int64_t>(), wanted[i].size(0));
      const auto found =
          latents.narrow(0, rows.first[slot].item<std::int64_t>(), wanted[i].size(0));
      EXPECT_LE(relative_error(found, wanted[i]), 1e-5) << "clip " << i;
    }
  }
}

// Otherwise a graph's or the attention's sizes would not fit.
TEST(LatentRows, KeepTheSizesOfTheBatch) {
  const auto config = small_gpt();
  const Clips clips;
  const auto trained =
      to_batch(pack_rows(config, clips.views(), PromptMask::None, kSizes[1]), c10::kCPU);
  const auto rows = latent_rows(config, trained, kSlots).rows;
  EXPECT_EQ(rows.tokens.sizes(), trained.tokens.sizes());
  EXPECT_TRUE(rows.segment_ends.equal(trained.segment_ends));
  EXPECT_EQ(rows.target_rows.size(0), trained.audio_targets.size(0));
  EXPECT_TRUE(rows.target_rows.lt(rows.tokens.size(0)).all().item<bool>());
}

}  // namespace
}  // namespace myxtts::test::latent_rows_test
