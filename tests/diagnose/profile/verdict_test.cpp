// SPDX-License-Identifier: Apache-2.0
#include "diagnose/profile/remedies.h"

#include <cmath>

#include <gtest/gtest.h>

#include "diagnose/profile/made_reading.h"

namespace myxtts::verdict_test {
namespace {

using test::made_profile;
using test::MadeTraining;

Cause verdict_of(const Profile& profile) {
  return profile.findings.front().cause;
}

std::shared_ptr<const TrialReading> read(const MadeTraining& made) {
  return std::make_shared<TrialReading>(test::reading_of(made));
}

ProfileSetup on_gpu() {
  ProfileSetup setup{.cores = 8};
  setup.plan.batch_size = 4;
  setup.plan.model.gpu.emplace();
  setup.plan.data.gpu.emplace();
  return setup;
}

TEST(Verdict, ATrainingThatWaitsForNothingIsBoundByItsModel) {
  const Profile profile = made_profile({});
  ASSERT_EQ(profile.findings.size(), 1);
  EXPECT_EQ(verdict_of(profile), Cause::ModelBound);
  EXPECT_FALSE(profile.findings.front().knob);
}

TEST(Verdict, ALongTimeOfAStageIsNoFaultWhileNobodyWaitsForIt) {
  // Decoders take 1.5 steps' time together, but there are two of them.
  EXPECT_EQ(verdict_of(made_profile({.decoding = 0.150})), Cause::ModelBound);
}

TEST(Verdict, SlowDecodersAreNamedWithTheNumberThatIsEnough) {
  const Profile profile = made_profile({.decoding = 0.498});
  const Finding& finding = profile.findings.front();
  ASSERT_EQ(finding.cause, Cause::Decoding);
  EXPECT_EQ(finding.knob->flag, "--num-workers 6");  // 0.5 s in 0.1 s, and a fifth to spare
  EXPECT_EQ(finding.knob->key, "data.num_workers");
  EXPECT_NEAR(finding.predicted_step_seconds, 0.100, 0.001);
  EXPECT_NEAR(finding.cost_share, 1 - 0.1 / 0.25, 0.01);
  EXPECT_NEAR(finding.predicted_gain(profile.clips_per_second), 1.5, 0.02);
}

TEST(Verdict, NoMoreDecodersAreAdvisedThanTheBufferHasClipsFor) {
  // Twelve would be enough, but a buffer of 4 batches of 2 clips gives work to 8.
  const Profile profile = made_profile({.decoding = 0.998, .clips = 2});
  const Finding& finding = profile.findings.front();
  ASSERT_EQ(finding.cause, Cause::Decoding);
  EXPECT_EQ(finding.knob->flag, "--num-workers 8");
  EXPECT_NEAR(finding.predicted_step_seconds, 1.0 / 8, 0.001);
  EXPECT_NE(finding.remark.find("--buffer-size"), std::string::npos) << finding.remark;
}

TEST(Verdict, WhereTheCoresCannotDecodeFasterTheCacheIsTheKnob) {
  const Profile profile = made_profile({.decoding = 1.6, .decoding_cpu = 1.5});
  ASSERT_EQ(verdict_of(profile), Cause::Decoding);
  EXPECT_EQ(profile.findings.front().knob->key, "data.cache_dataset");
}

TEST(Verdict, ShiftedClipsAreNotToBeCached) {
  for (const MadeTraining& made : {MadeTraining{.decoding = 1.6, .decoding_cpu = 1.5},
                                   MadeTraining{.files = 0.6}, MadeTraining{.encoding = 0.3}}) {
    ASSERT_TRUE(made_profile(made).findings.front().knob);
    const Profile shifted = made_profile(made, {.shift_clips = true});
    EXPECT_EQ(verdict_of(shifted), verdict_of(made_profile(made)));
    for (const Finding& finding : shifted.findings) {
      EXPECT_FALSE(finding.knob && finding.knob->key == "data.cache_dataset");
    }
  }
}

TEST(Verdict, FilesThatDecodersWaitForAreReadingAndNotDecoding) {
  EXPECT_EQ(verdict_of(made_profile({.files = 0.6})), Cause::Reading);
  EXPECT_EQ(verdict_of(made_profile({.listing = 0.3})), Cause::Reading);
}

TEST(Verdict, TheLargerOfTwoPartsOfOneThreadIsNamed) {
  EXPECT_EQ(verdict_of(made_profile({.encoding = 0.200, .transfer = 0.090})), Cause::Features);
  EXPECT_EQ(verdict_of(made_profile({.encoding = 0.090, .transfer = 0.200})), Cause::Transfer);
}

TEST(Verdict, TheCacheIsPredictedToLeaveThePromptsAndTheModel) {
  const Profile profile = made_profile({.encoding = 0.300, .prompts = 0.150});
  const Finding& finding = profile.findings.front();
  ASSERT_EQ(finding.cause, Cause::Features);
  EXPECT_EQ(finding.knob->flag, "--cache-dataset");
  EXPECT_NEAR(finding.predicted_step_seconds, 0.151, 0.002);
}

TEST(Verdict, OfTwoSlowStagesTheSlowerIsFirstAndTheOtherSecond) {
  const Profile profile = made_profile({.decoding = 0.8, .encoding = 0.2});
  ASSERT_GE(profile.findings.size(), 2);
  EXPECT_EQ(profile.findings[0].cause, Cause::Decoding);
  EXPECT_NEAR(profile.findings[0].predicted_step_seconds, 0.206, 0.01);
  EXPECT_EQ(profile.findings[1].cause, Cause::Features);
  EXPECT_NEAR(profile.findings[1].predicted_step_seconds, 0.100, 0.005);
}

TEST(Verdict, WaitsThatNoStageExplainsAreOscillation) {
  const Profile profile = made_profile({.waits_beside = 0.050});
  const Finding& finding = profile.findings.front();
  ASSERT_EQ(finding.cause, Cause::Oscillation);
  EXPECT_EQ(finding.knob->key, "data.pipeline_buffer_size");
  EXPECT_GT(std::stoi(finding.knob->value), 4);
  EXPECT_NEAR(finding.predicted_step_seconds, 0.100, 0.001);
}

TEST(Verdict, ALargerModelHidesTheSameSlowStage) {
  EXPECT_EQ(verdict_of(made_profile({.encoding = 0.2, .model = 0.1})), Cause::Features);
  EXPECT_EQ(verdict_of(made_profile({.encoding = 0.2, .model = 0.3, .ceiling = 0.3})),
            Cause::ModelBound);
}

TEST(Verdict, FeaturesThatSlowTheModelDownOnTheSameDeviceAreNamedThoughNothingWaits) {
  const Profile profile = made_profile({.encoding = 0.060, .model = 0.150, .ceiling = 0.100});
  const Finding& finding = profile.findings.front();
  ASSERT_EQ(finding.cause, Cause::Features);
  EXPECT_NEAR(finding.predicted_step_seconds, 0.104, 0.005);
}

// Prompts stay whatever the cache holds, so it would give back a fifth of what they seem to cost.
TEST(Verdict, ASmallCostThatItsKnobLeavesInPlaceIsNoise) {
  const MadeTraining small{.encoding = 0.005, .prompts = 0.015, .model = 0.264, .ceiling = 0.229};
  EXPECT_EQ(verdict_of(made_profile(small)), Cause::ModelBound);
  MadeTraining large = small;
  large.prompts = 0.060;
  large.model = 0.300;
  EXPECT_EQ(verdict_of(made_profile(large)), Cause::Features) << "but it is not for ever silent";
}

TEST(Verdict, AWaitAtEveryCopyIsPaidLessOftenWithLargerBatches) {
  const Profile profile = made_profile({.transfer = 0.275});
  const Finding& finding = profile.findings.front();
  ASSERT_EQ(finding.cause, Cause::Transfer);
  EXPECT_EQ(finding.knob->flag, "--batch-size 16");
  EXPECT_NEAR(finding.predicted_clips_per_second, 16 / 0.400, 0.5);
}

TEST(Verdict, WhereABudgetOfTokensIsSetTheBudgetGrowsAndNotTheNumberOfClips) {
  ProfileSetup setup;
  setup.plan.batch_tokens = 2000;
  const Finding finding = made_profile({.transfer = 0.275}, setup).findings.front();
  ASSERT_EQ(finding.cause, Cause::Transfer);
  EXPECT_EQ(finding.knob->flag, "--batch-tokens 8000");
}

TEST(Verdict, ABatchThatTheConfigurationDoesNotAllowIsNotAdvised) {
  const Finding finding = made_profile({.transfer = 0.275, .clips = 4000}).findings.front();
  ASSERT_EQ(finding.cause, Cause::Transfer);
  EXPECT_FALSE(finding.knob);
}

TEST(Verdict, TheHostPathThatWasAskedForIsTheKnobOfASlowTransfer) {
  const Profile profile = made_profile({.transfer = 0.3}, {.host_path_was_asked = true});
  EXPECT_EQ(profile.findings.front().knob->flag, "--transfer-path auto");
}

TEST(Verdict, ABufferThatFillsMeanwhileDoesNotMakeItsStageSlower) {
  // Decoders did twice the work that was used.
  MadeTraining made{.decoding = 0.090};
  TrialReading reading = test::reading_of(made);
  for (StageReading& stage : reading.pipeline.stages) stage.clips *= 2;
  reading.pipeline.stages[1].load.busy *= 2;
  EXPECT_EQ(verdict_of(make_profile({.cores = 8}, reading)), Cause::ModelBound);
}

TEST(Verdict, WhatWasTriedIsPredictedAsItWasMeasured) {
  TrialReading reading = test::reading_of({});
  reading.lone = LoneStep{.host_seconds = 0.1, .after_seconds = 0.001};
  // The features' thread has the host to itself then, and is faster too.
  reading.tried = {{.knob = {"--enable-static-shapes", "train.enable_static_shapes", "true"},
                    .reading = read({.encoding = 0.012, .model = 0.015})}};
  const Profile profile = make_profile(on_gpu(), reading);
  ASSERT_EQ(verdict_of(profile), Cause::Launch);
  EXPECT_NEAR(profile.findings.front().predicted_step_seconds, 0.012 + 0.005 + 0.001, 0.0005);
}

TEST(Verdict, ClipsOfATrialCountByTheirTokens) {
  TrialReading reading = test::reading_of({});
  reading.useful_tokens = reading.tokens * 8 / 10;
  TrialReading tried = test::reading_of({});  // the same steps, all of it useful
  tried.clips = 250 * 9 / 10;                 // by chance they were longer ones
  reading.tried = {{.knob = {"--batch-tokens 1000", "train.batch_tokens", "1000"},
                    .reading = std::make_shared<TrialReading>(tried)}};
  const Profile profile = make_profile({.cores = 8}, reading);
  ASSERT_EQ(verdict_of(profile), Cause::Padding);
  // 50,000 useful tokens in place of 40,000; of 200 and 225 clips a clip has 90,000 / 425.
  EXPECT_NEAR(profile.findings.front().predicted_gain(profile.clips_per_second),
              50'000 / (90'000.0 / 425) / 200 - 1, 0.001);
}

// Of the tokens that such a training computes, this share is useful.
TrialReading padded(const MadeTraining& made, double useful) {
  TrialReading reading = test::reading_of(made);
  reading.useful_tokens = std::llround(useful * static_cast<double>(reading.tokens));
  return reading;
}

Finding found_in(const TrialReading& reading, ProfileSetup setup = {.cores = 8}) {
  return make_profile(setup, reading).findings.front();
}

Tried budget_tried(const TrialReading& reading, std::int64_t tokens = 1000) {
  const std::string value = std::to_string(tokens);
  return {.knob = {"--batch-tokens " + value, "train.batch_tokens", value},
          .reading = std::make_shared<TrialReading>(reading)};
}

TEST(VerdictOfPadding, WithoutATrialItIsPredictedByWhatTheSameTokensWouldGive) {
  const Finding finding = found_in(padded({}, 0.5));
  ASSERT_EQ(finding.cause, Cause::Padding);
  EXPECT_EQ(finding.knob->flag, "--batch-tokens 1000");
  EXPECT_NEAR(finding.predicted_clips_per_second, 4 * 1.9 / 0.100, 0.5);
}

TEST(VerdictOfPadding, TheBudgetHoldsTheLongestClip) {
  TrialReading reading = padded({}, 0.5);
  reading.longest_row = 1400;
  EXPECT_EQ(found_in(reading).knob->flag, "--batch-tokens 1400");
}

TEST(VerdictOfPadding, WhatLargerStepsGiveIsNoCostOfALittlePadding) {
  TrialReading reading = padded({}, 0.93);
  TrialReading tried = padded({.clips = 12}, 0.95);  // three times the clips in the same time
  tried.useful_tokens *= 3;
  tried.tokens *= 3;
  reading.tried = {budget_tried(tried)};
  EXPECT_EQ(found_in(reading).cause, Cause::ModelBound);
}

TEST(VerdictOfPadding, ItIsNamedByItsShareAndPredictedAsItWasMeasured) {
  TrialReading reading = padded({}, 0.6);
  TrialReading tried = padded({.model = 0.110, .ceiling = 0.110, .clips = 6}, 0.9);
  reading.tried = {budget_tried(tried)};
  const Finding finding = found_in(reading);
  ASSERT_EQ(finding.cause, Cause::Padding);
  EXPECT_NEAR(finding.predicted_clips_per_second, 4 * 1.5 / 0.110, 0.5);
  EXPECT_NEAR(finding.cost_share, 1 - 1.1 / 1.5, 0.01);
}

TEST(VerdictOfPadding, ABudgetThatGivesNothingIsNotAdvised) {
  TrialReading reading = padded({}, 0.6);
  reading.tried = {budget_tried(padded({.model = 0.150, .ceiling = 0.150, .clips = 6}, 0.9))};
  EXPECT_EQ(found_in(reading).cause, Cause::ModelBound);
}

TEST(VerdictOfPadding, WhatDoesNotFitIsNamedWithoutAKnob) {
  TrialReading reading = padded({}, 0.6);
  reading.tried = {budget_tried({})};
  reading.tried[0].reading = nullptr;
  const Finding finding = found_in(reading);
  EXPECT_EQ(finding.cause, Cause::Padding);
  EXPECT_FALSE(finding.knob);
}

TEST(VerdictOfPadding, ItCostsNothingWhileTheModelWaitsForClips) {
  EXPECT_EQ(found_in(padded({.encoding = 0.3}, 0.5)).cause, Cause::Features);
  EXPECT_EQ(found_in(padded({.decoding = 0.8}, 0.5)).cause, Cause::Decoding);
}

TEST(VerdictOfPadding, ABudgetThatIsThereGrowsToWhatIsComputedOrToTwice) {
  ProfileSetup setup{.cores = 8};
  setup.plan.batch_tokens = 400;
  EXPECT_EQ(found_in(padded({}, 0.5), setup).knob->flag, "--batch-tokens 1000");
  setup.plan.batch_tokens = 1000;
  EXPECT_EQ(found_in(padded({}, 0.5), setup).knob->flag, "--batch-tokens 2000");
}

TEST(Verdict, LargerBatchesThatWereTriedArePredictedAsTheyWereMeasured) {
  TrialReading reading = test::reading_of({.transfer = 0.275});
  ProfileSetup setup{.cores = 8};
  setup.plan.batch_size = 4;
  const Knob knob{"--batch-size 16", "train.batch_size", "16"};
  reading.tried = {
      {.knob = knob, .reading = read({.transfer = 0.275, .model = 0.350, .clips = 16})}};
  Finding finding = make_profile(setup, reading).findings.front();
  ASSERT_EQ(finding.cause, Cause::Transfer);
  EXPECT_NEAR(finding.predicted_step_seconds, 0.350, 0.001);
  reading.tried = {{.knob = knob}};
  finding = make_profile(setup, reading).findings.front();
  ASSERT_EQ(finding.cause, Cause::Transfer);
  EXPECT_FALSE(finding.knob);
}

TEST(Verdict, AHostThatIsHeldUpByCopiesOnAGpuIsATransferAndNotFeatures) {
  EXPECT_EQ(verdict_of(make_profile(on_gpu(), test::reading_of({.transfer = 0.3}))),
            Cause::Transfer);
  EXPECT_EQ(verdict_of(make_profile(on_gpu(), test::reading_of({.encoding = 0.3}))),
            Cause::Features);
}

TEST(Verdict, AlmostFullMemoryIsToldBesideTheVerdict) {
  TrialReading reading = test::reading_of({});
  reading.model.cap = 1000;
  reading.model.peak_bytes = 970;
  const Profile profile = make_profile({.cores = 8}, reading);
  ASSERT_EQ(profile.findings.size(), 2);
  EXPECT_EQ(profile.findings[1].cause, Cause::MemoryPressure);
}

}  // namespace
}  // namespace myxtts::verdict_test
