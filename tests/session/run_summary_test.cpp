// SPDX-License-Identifier: Apache-2.0
#include "session/run_report.h"

#include <gtest/gtest.h>

#include "support/temporary_folder.h"

namespace myxtts::test::run_summary_test {
namespace {

using namespace std::chrono_literals;

StageReading stage(const std::string& name, std::chrono::nanoseconds busy,
                   std::chrono::nanoseconds waiting) {
  return {.name = name, .load = {.busy = busy, .waiting_for_input = waiting}};
}

PipelineReading reading(std::int64_t ready, double waited, const std::string& busiest) {
  PipelineReading made;
  for (const char* name : {"reader", "decoder", "batcher", "collator", "features"}) {
    made.stages.push_back(stage(name, name == busiest ? 9s : 2s, 1s));
  }
  made.readiness = {.steps = 1000, .ready = ready, .waited_seconds = waited};
  made.model_device = {.batches = 1000, .busy_seconds = 90};
  return made;
}

bool has(const std::string& text, const std::string& words) {
  return text.find(words) != std::string::npos;
}

TEST(PipelineVerdict, AReadyPipelineKeptUp) {
  const auto verdict = pipeline_verdict(reading(998, 0.1, "features"));
  EXPECT_TRUE(has(verdict, "The pipeline kept up: 998 of 1000")) << verdict;
  EXPECT_TRUE(has(verdict, "99.8 %")) << verdict;
}

TEST(PipelineVerdict, OneThatHeldTrainingUpIsNamedWithTheKnobToTurn) {
  const auto features = pipeline_verdict(reading(100, 60, "features"));
  EXPECT_TRUE(has(features, "held training up")) << features;
  EXPECT_TRUE(has(features, "the features (90 %)")) << features;
  EXPECT_TRUE(has(features, "--data-gpu")) << features;
  EXPECT_TRUE(has(features, "waited 40.0 %")) << features;
  const auto decoder = pipeline_verdict(reading(100, 60, "decoder"));
  EXPECT_TRUE(has(decoder, "the decoder")) << decoder;
  EXPECT_TRUE(has(decoder, "--num-workers")) << decoder;
}

TEST(PipelineVerdict, TheCacheIsAdvisedOnlyWhereItIsAllowed) {
  RunConfig config;
  EXPECT_TRUE(advice_for(config).cache);
  config.data.cache_dataset = true;
  EXPECT_FALSE(advice_for(config).cache);
  config = {};
  config.train.shift_clips = true;
  EXPECT_FALSE(advice_for(config).cache);
  for (const ModelPart other : {ModelPart::Dvae, ModelPart::Decoder, ModelPart::Speaker}) {
    config = {};
    config.train.stage = other;
    EXPECT_FALSE(advice_for(config).cache);
    EXPECT_FALSE(advice_for(config).profile);
  }
  for (const char* name : {"features", "decoder", "reader"}) {
    EXPECT_TRUE(has(pipeline_verdict(reading(100, 60, name)), "--cache-dataset")) << name;
    const auto without = pipeline_verdict(reading(100, 60, name), {.cache = false});
    EXPECT_FALSE(has(without, "--cache-dataset")) << without;
    EXPECT_TRUE(
        has(describe(RunSummary{.pipeline = reading(100, 60, name), .advice = {.cache = false}}),
            without));  // what held training up is said without being asked for
  }
}

TEST(PipelineVerdict, ProfileIsAdvisedToRunsOfOneRank) {
  RunConfig config;
  EXPECT_TRUE(advice_for(config).profile);
  config.parallel.ranks = 2;
  EXPECT_FALSE(advice_for(config).profile);
}

TEST(PipelineVerdict, ShortWaitsAreNotBlamedOnAStage) {
  const auto verdict = pipeline_verdict(reading(900, 2, "decoder"));
  EXPECT_TRUE(has(verdict, "most of the time")) << verdict;
  EXPECT_FALSE(has(verdict, "--num-workers")) << verdict;
}

TEST(RunSummary, TellsStepsSpeedAndLosses) {
  const auto text = describe(RunSummary{.first_step = 10,
                                        .last_step = 110,
                                        .skipped_steps = 2,
                                        .seconds = 50,
                                        .audio_seconds = 5000,
                                        .first_loss = 6.5,
                                        .last_loss = 4.25,
                                        .best_validation_loss = 4.5,
                                        .pipeline = reading(1000, 0, "features")});
  for (const char* words : {"100 steps, 11 to 110, in 50 s", "2 steps/s", "100 hours of speech",
                            "6.5000 at first, 4.2500 at last", "4.5000 at best", "2 steps that"}) {
    EXPECT_TRUE(has(text, words)) << words << "\n" << text;
  }
}

TEST(RunSummary, ARunThatTookNoStepSaysSo) {
  EXPECT_EQ(describe(RunSummary{.seconds = 1}), "no step was taken\n");
  EXPECT_EQ(describe(RunSummary{.first_step = 7, .last_step = 7}),
            "no step was taken after step 7\n");
  EXPECT_TRUE(has(describe(RunSummary{.first_step = 7, .last_step = 7, .is_at_end = true}),
                  "nothing was left to train: the run is at its end, step 7; raise --max-steps"));
}

TEST(RunSummary, StagesThatKeptUpAreOnlyForThoseWhoAsk) {
  const RunSummary summary{.last_step = 100, .seconds = 50, .pipeline = reading(1000, 0, "reader")};
  EXPECT_FALSE(has(describe(summary), "collator")) << describe(summary);
  EXPECT_FALSE(has(describe(summary), "The pipeline")) << describe(summary);
  EXPECT_TRUE(has(plumbing(summary), "collator")) << plumbing(summary);
  EXPECT_TRUE(has(plumbing(summary), "The pipeline kept up")) << plumbing(summary);
}

RunConfig trained_on(const char* corpus) {
  RunConfig config;
  config.data.train_data = {{.path = corpus}};
  config.data.language = "fa";
  return config;
}

TEST(NextCommands, AModelThatSpeaksIsHeardMeasuredAndExported) {
  RunConfig config = trained_on("my corpus");
  config.train.init = "models/xtts-v2";
  const ManifestEntry clip{.audio = "my corpus/1.wav", .text = "it's late", .language = "fa"};
  EXPECT_EQ(next_commands(config, "runs/a", clip, {.can_be_exported = true}),
            "runs/a/latest is a model now.\n"
            "  hear it     myxtts synthesize --model runs/a/latest --reference 'my corpus/1.wav' "
            "--language fa --text 'it'\\''s late' --out hello.wav\n"
            "  measure it (on every clip, those of the training too)  myxtts evaluate --model "
            "runs/a/latest --data 'my corpus,language=fa'\n"
            "  export it   myxtts export --model runs/a/latest --format coqui --out "
            "runs/a/export\n");
  EXPECT_FALSE(has(next_commands(config, "runs/a", clip, {}), "export"));
  config.data.val_data = {{.path = "held-out"}};
  EXPECT_TRUE(has(next_commands(config, "runs/a", clip, {}),
                  "  measure it  myxtts evaluate --model runs/a/latest --data "
                  "held-out,language=fa\n"));
}

TEST(NextCommands, TheBestModelIsNamedWhereThereIsOne) {
  const TemporaryFolder run;
  RunConfig config = trained_on("corpora/anna");
  config.train.init = "models/xtts-v2";
  std::filesystem::create_directory(run / "best");
  const std::string text = next_commands(config, run.path(), {}, {});
  EXPECT_FALSE(has(text, "latest")) << text;
  EXPECT_TRUE(has(text, "evaluate --model " + (run / "best").string())) << text;
}

TEST(NextCommands, ADecoderAloneIsTrainedBehindWhatIsThere) {
  RunConfig config = trained_on("corpora/anna");
  config.data.cache_dataset = true;  // which serves the GPT alone
  EXPECT_EQ(next_commands(config, "runs/a", {}, {.untrained = {ModelPart::Decoder}}),
            "runs/a/latest cannot speak: its decoder was not trained. To train it, type:\n"
            "  myxtts train --stage decoder --init runs/a/latest --train-data "
            "corpora/anna,language=fa --checkpoint-dir runs/a-decoder\n");
}

TEST(NextCommands, AModelThatCannotSpeakNamesTheStagesThatMakeItSpeakWithWhatTheyNeed) {
  const TemporaryFolder folder;
  const std::string run = folder / "a";
  RunConfig config = trained_on("corpora/anna");
  config.data.max_skipped = 0.5;
  config.devices.device = DeviceKind::Cpu;
  config.devices.mode = Mode::Auto;
  config.train.batch_size = 4;
  config.train.lr = 0.1;  // the GPT's
  const TrainedModel model{.untrained = {ModelPart::Dvae, ModelPart::Decoder}, .size = "tiny"};
  const auto text = [&] { return next_commands(config, run, {}, model); };
  EXPECT_EQ(text(), run +
                        "/latest cannot speak: its dvae and decoder were not trained. To train all "
                        "that speaks, type:\n"
                        "  myxtts train --stages dvae,gpt,decoder --model-size tiny --train-data "
                        "corpora/anna,language=fa --max-skipped 0.5 --device cpu --batch-size 4 "
                        "--checkpoint-dir " +
                        run + "-whole\n");
  std::filesystem::create_directory(run + "-whole");
  EXPECT_TRUE(has(text(), "--checkpoint-dir " + run + "-whole-2\n")) << text();
}

TEST(RunTally, MeansAreOfTheFirstAndLastStepsThatCounted) {
  RunTally tally;
  EXPECT_FALSE(tally.first_loss());
  for (int step = 1; step <= 30; ++step) {
    tally.stepped({.numbers = {.step = step, .loss = 100.0 - step}, .audio_seconds = 2});
    tally.stepped({.numbers = {.step = step, .loss = 1e30, .skipped = true}});
  }
  EXPECT_DOUBLE_EQ(*tally.first_loss(), 100 - 5.5);
  EXPECT_DOUBLE_EQ(*tally.last_loss(), 100 - 25.5);
  EXPECT_DOUBLE_EQ(tally.audio_seconds(), 60);
}

TEST(RunTally, AFewStepsAreHalvedSoThatTheirFallIsSeen) {
  RunTally tally;
  for (const double loss : {8.0, 6.0, 4.0, 2.0}) tally.stepped({.numbers = {.loss = loss}});
  EXPECT_DOUBLE_EQ(*tally.first_loss(), 7.0);
  EXPECT_DOUBLE_EQ(*tally.last_loss(), 3.0);
}

}  // namespace
}  // namespace myxtts::test::run_summary_test
