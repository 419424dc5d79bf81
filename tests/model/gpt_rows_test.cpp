// SPDX-License-Identifier: Apache-2.0
#include "model/gpt_rows.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/error.h"

namespace myxtts::gpt_rows_test {
namespace {

using Ids = std::vector<std::int64_t>;

// Small ids that can be told apart: text 1.., codes 0.., start and stop at the end.
GptConfig config() {
  GptConfig config;
  config.text_ids = 20;
  config.start_text = 19;
  config.audio_ids = 10;
  config.start_audio = 8;
  config.stop_audio = 9;
  config.max_text_tokens = 5;
  config.max_audio_tokens = 7;
  config.perceiver_latents = 2;
  return config;
}

const Ids kText = {3, 4, 5};
const Ids kCodes = {6, 7};
const Ids kShortText = {1};
const Ids kShortCodes = {0};

std::vector<GptClip> two_clips() {
  return {{.text = kText, .codes = kCodes}, {.text = kShortText, .codes = kShortCodes}};
}

std::string refusal(const GptClip& clip) {
  try {
    pack_rows(config(), std::vector<GptClip>{clip});
  } catch (const DataError& error) {
    return error.what();
  }
  return {};
}

TEST(GptRows, ARowIsLatentsThenStartAndTextThenStartCodesAndThreeStops) {
  const auto rows = pack_rows(config(), std::vector<GptClip>{two_clips()[0]});
  // Codes stand after the 20 text ids, latents after the 10 audio ids.
  EXPECT_EQ(rows.tokens, (Ids{30, 31, 19, 3, 4, 5, 28, 26, 27, 29, 29, 29}));
}

TEST(GptRows, PositionsRestartWithEachPartAndLatentsHaveNone) {
  const auto rows = pack_rows(config(), std::vector<GptClip>{two_clips()[0]});
  // 1 + 0.. for text; after the 7 text positions, 8 + 0.. for codes.
  EXPECT_EQ(rows.positions, (Ids{0, 0, 1, 2, 3, 4, 8, 9, 10, 11, 12, 13}));
}

TEST(GptRows, TextPredictsItselfThenStopAndCodesThemselvesThenFourStops) {
  const auto rows = pack_rows(config(), std::vector<GptClip>{two_clips()[0]});
  EXPECT_EQ(rows.text_targets, (Ids{3, 4, 5, 0}));
  EXPECT_EQ(rows.audio_targets, (Ids{6, 7, 9, 9, 9, 9}));
  EXPECT_EQ(rows.target_rows, (Ids{2, 3, 4, 5, 6, 7, 8, 9, 10, 11}));
  EXPECT_EQ(rows.text_count, 4);
  EXPECT_EQ(rows.audio_count, 6);
}

TEST(GptRows, ClipsFollowOneAnotherAsSegmentsOfTheirOwn) {
  const auto rows = pack_rows(config(), two_clips());
  EXPECT_EQ(rows.lengths, (Ids{12, 9, 0}));
  EXPECT_EQ(rows.segment_ends, (std::vector<std::int32_t>{0, 12, 21, 21}));
  EXPECT_EQ(rows.longest, 12);
  EXPECT_EQ(rows.tokens[12], 32) << "the second clip begins with its own latents";
  EXPECT_EQ(rows.text_clips, (Ids{0, 0, 0, 0, 1, 1}));
  EXPECT_EQ(rows.audio_clips, (Ids{0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1}));
}

TEST(GptRows, PaddingIsASegmentOfItsOwnWithIgnoredTargets) {
  const auto rows =
      pack_rows(config(), two_clips(), PromptMask::None,
                {.tokens = 40, .text_targets = 8, .audio_targets = 12, .longest = 32});
  EXPECT_EQ(rows.lengths, (Ids{12, 9, 19}));
  EXPECT_EQ(rows.longest, 32);
  EXPECT_EQ(rows.tokens.size(), 40u);
  EXPECT_EQ(rows.positions.size(), 40u);
  EXPECT_EQ(rows.target_rows.size(), 20u);
  EXPECT_EQ(std::ranges::count(rows.text_targets, -1), 2);
  EXPECT_EQ(std::ranges::count(rows.audio_targets, -1), 1);
  EXPECT_EQ(rows.text_clips.back(), 2);
  EXPECT_EQ(rows.text_count, 6);
  EXPECT_EQ(rows.audio_count, 11);
}

TEST(GptRows, PaddingIsCutIntoPiecesThatAreNotLongerThanTheLongestSegment) {
  const auto rows = pack_rows(config(), two_clips(), PromptMask::None,
                              {.tokens = 50, .longest = 12, .segments = 7});
  EXPECT_EQ(rows.lengths, (Ids{12, 9, 12, 12, 5, 0, 0}));
  EXPECT_EQ(rows.segment_ends, (std::vector<std::int32_t>{0, 12, 21, 33, 45, 50, 50, 50}));
  EXPECT_EQ(rows.longest, 12);
  EXPECT_THROW(pack_rows(config(), two_clips(), PromptMask::None,
                         {.tokens = 50, .longest = 12, .segments = 4}),
               InternalError);
}

TEST(GptRows, SizesThatAreTooSmallAreABugOfTheCaller) {
  EXPECT_THROW(pack_rows(config(), two_clips(), PromptMask::None, {.tokens = 20}), InternalError);
  EXPECT_THROW(pack_rows(config(), two_clips(), PromptMask::None, {.longest = 11}), InternalError);
}

TEST(GptRows, TheIntendedMaskIgnoresEachClipsSpanInCodes) {
  auto clips = two_clips();
  clips[0].prompt = {.first = 1024, .last = 2048 + 500};
  clips[1].prompt = {.first = 0, .last = 1024};
  const auto rows = pack_rows(config(), clips, PromptMask::Clip);
  EXPECT_EQ(rows.audio_targets, (Ids{6, -1, 9, 9, 9, 9, -1, 9, 9, 9, 9}));
  EXPECT_EQ(rows.audio_count, 9);
}

TEST(GptRows, ThePeersSlipIgnoresTheLastClipsSpanInMelFrames) {
  auto clips = two_clips();
  clips[0].prompt = {.first = 0, .last = 100'000};
  clips[1].prompt = {.first = 256, .last = 3 * 256 + 255};
  const auto rows = pack_rows(config(), clips, PromptMask::Peer);
  EXPECT_EQ(rows.audio_targets, (Ids{6, 7, 9, 9, 9, 9, 0, -1, -1, 9, 9}));
}

TEST(GptRows, ABatchWhoseEveryCodeIsMaskedHasNoCodeTargetsAndIsNoError) {
  std::vector<GptClip> clips = {two_clips()[0]};
  clips[0].prompt = {.first = 0, .last = 100'000};
  const auto rows = pack_rows(config(), clips, PromptMask::Peer);
  EXPECT_EQ(rows.audio_count, 0);
  EXPECT_EQ(rows.text_count, 4);
}

TEST(GptRows, LatentRowsShowTheTextsStopAndEndWithTheCodeBeforeTheLast) {
  const auto rows = pack_latent_rows(config(), std::vector<GptClip>{two_clips()[0]});
  EXPECT_EQ(rows.tokens, (Ids{30, 31, 19, 3, 4, 5, 0, 28, 26}));
  EXPECT_EQ(rows.positions, (Ids{0, 0, 1, 2, 3, 4, 5, 8, 9}));
  EXPECT_EQ(rows.target_rows, (Ids{7, 8}));
  EXPECT_TRUE(rows.text_targets.empty());
}

TEST(GptRows, TheLongestClipsFitAndLongerOnesAreRefusedByLength) {
  const Ids text(5, 1);
  const Ids codes(5, 1);
  EXPECT_EQ(refusal({.text = text, .codes = codes}), "");
  const Ids long_text(6, 1);
  EXPECT_EQ(refusal({.text = long_text, .codes = codes}),
            "Clip 0 of the batch has 6 text tokens; this model takes 1 to 5.");
  const Ids long_codes(6, 1);
  EXPECT_EQ(refusal({.text = text, .codes = long_codes}),
            "Clip 0 of the batch has 6 codes; this model takes 1 to 5.");
  EXPECT_EQ(refusal({.text = {}, .codes = codes}),
            "Clip 0 of the batch has 0 text tokens; this model takes 1 to 5.");
}

TEST(GptRows, AnIdOutsideItsEmbeddingIsNamed) {
  const Ids text = {1, 20};
  const Ids codes = {10};
  EXPECT_EQ(refusal({.text = text, .codes = kCodes}),
            "Clip 0 of the batch has the text id 20; this model has ids 0 to 19.");
  EXPECT_EQ(refusal({.text = kText, .codes = codes}),
            "Clip 0 of the batch has the code 10; this model has ids 0 to 9.");
}

}  // namespace
}  // namespace myxtts::gpt_rows_test
