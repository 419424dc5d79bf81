// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/error.h"
#include "config/effective_config.h"
#include "support/temporary_file.h"

namespace myxtts::consistency_test {
namespace {

using Values = std::vector<std::pair<std::string, std::string>>;

std::string complaint(const Values& values) {
  ConfigSources sources;
  for (const auto& [key, value] : values) {
    const Field* field = find_field(key);
    sources.flags.push_back({field, {value, false}, {Origin::Kind::Flag, field->flag, 0}});
  }
  try {
    make_effective_config(sources);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

TEST(Consistency, ContradictionsNameBothSidesAndTheRemedy) {
  EXPECT_EQ(complaint({{"data.data_gpu", "1"}}),
            "data.data_gpu is 1 (flag --data-gpu) but data.model_gpu is none (default); give both, "
            "as in --data-gpu 0 --model-gpu 1, or neither.");
  EXPECT_EQ(complaint({{"data.data_gpu", "2"}, {"data.model_gpu", "2"}}),
            "data.data_gpu is 2 (flag --data-gpu) but data.model_gpu is 2 (flag --model-gpu); give "
            "two different GPUs, or use one as two with --split-gpu 2.");
}

TEST(Consistency, ADataGpuFeedsOneModelGpuOrThoseOfAList) {
  EXPECT_EQ(complaint({{"data.data_gpu", "0"}, {"parallel.gpus", "1,2"}}), "");
  EXPECT_NE(complaint({{"data.data_gpu", "0"}, {"data.model_gpu", "1"}, {"parallel.gpus", "1,2"}})
                .find("leave out --model-gpu"),
            std::string::npos);
  EXPECT_NE(complaint({{"data.data_gpu", "2"}, {"parallel.gpus", "1,2"}})
                .find("as in --data-gpu 0 --gpus 1,2"),
            std::string::npos);
  EXPECT_NE(
      complaint({{"parallel.ranks", "2"}, {"parallel.gpus", "1,2"}}).find("leave out --ranks"),
      std::string::npos);
}

TEST(Consistency, AListOfGpusAloneHasARankOnEach) {
  EXPECT_EQ(complaint({{"parallel.gpus", "0,1"}}), "");
  EXPECT_EQ(complaint({{"parallel.gpus", "all"}, {"devices.mode", "single"}}), "");
  EXPECT_NE(complaint({{"parallel.gpus", "0,1"}, {"data.model_gpu", "1"}})
                .find("as --gpus names the GPUs that train"),
            std::string::npos);
  EXPECT_NE(complaint({{"parallel.gpus", "0,1"}, {"devices.split_gpu", "0"}})
                .find("a rank prepares its own data"),
            std::string::npos);
}

TEST(Consistency, EverySettingThatNeedsAGpuContradictsDeviceCpu) {
  for (const Values& values : std::vector<Values>{
           {{"data.data_gpu", "0"}, {"data.model_gpu", "1"}},
           {{"parallel.gpus", "0,1"}},
           {{"devices.split_gpu", "0"}},
           {{"devices.mode", "single"}},
           {{"train.precision", "tf32"}},
           {{"train.precision", "fp16"}},
           {{"devices.enable_memory_isolation", "true"}, {"devices.data_gpu_memory", "4096"}},
           {{"devices.enable_memory_isolation", "true"}, {"devices.model_gpu_memory", "4096"}}}) {
    EXPECT_EQ(complaint(values), "");
    Values on_cpu = values;
    on_cpu.emplace_back("devices.device", "cpu");
    EXPECT_NE(complaint(on_cpu).find("devices.device is cpu (flag --device)"), std::string::npos)
        << values.back().first << ": " << complaint(on_cpu);
  }
}

TEST(Consistency, AModeNeedsTheDevicesItSpeaksOfAndNoOthers) {
  const Values pair = {{"data.data_gpu", "1"}, {"data.model_gpu", "0"}};
  const Values split = {{"devices.split_gpu", "0:16"}};
  const auto with_mode = [](Values values, const std::string& mode) {
    values.emplace_back("devices.mode", mode);
    return complaint(values);
  };
  EXPECT_EQ(with_mode(pair, "dual"), "");
  for (const char* wrong : {"single", "split", "cpu", "auto"})
    EXPECT_NE(with_mode(pair, wrong), "") << wrong;
  EXPECT_EQ(with_mode(split, "split"), "");
  for (const char* wrong : {"single", "dual", "cpu", "auto"})
    EXPECT_NE(with_mode(split, wrong), "") << wrong;
  for (const char* right : {"single", "cpu", "auto"}) EXPECT_EQ(with_mode({}, right), "") << right;
  for (const char* wrong : {"dual", "split"}) EXPECT_NE(with_mode({}, wrong), "") << wrong;
  EXPECT_NE(with_mode({{"devices.device", "cuda"}}, "cpu"), "");
}

// A remedy names what was written, where it was written.
TEST(Consistency, WhatAFileOrAPresetSaysIsLeftOutThere) {
  const test::TemporaryFile file("devices:\n  split_gpu: 0\n  device: cpu\n");
  const auto refusal = [](const ConfigSources& sources) -> std::string {
    try {
      make_effective_config(sources);
    } catch (const ConfigError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_NE(refusal({.file = file.path()})
                .find("leave out devices.split_gpu of " + file.string() + ":2 or use"),
            std::string::npos);
  const Field* field = find_field("devices.device");
  EXPECT_NE(
      refusal({.preset = "two-gpu", .flags = {{field, {"cpu"}, {Origin::Kind::Flag, "--device"}}}})
          .find("leave out --preset two-gpu or use"),
      std::string::npos);
}

TEST(Consistency, GpuIsAnotherWordForCuda) {
  EXPECT_EQ(complaint({{"devices.device", "gpu"}}), "");
  EXPECT_NE(complaint({{"devices.device", "gpu"}, {"devices.mode", "cpu"}})
                .find("devices.device is cuda"),
            std::string::npos);
}

// What is to be measured cannot be set, and equal runs cannot follow from a measurement.
TEST(Consistency, AutoLeavesNothingElseToChooseAndIsNotForEqualRuns) {
  const auto with_auto = [](Values values) {
    values.emplace_back("devices.mode", "auto");
    return complaint(values);
  };
  EXPECT_NE(with_auto({{"devices.split_gpu", "0:16"}}).find("leave out --mode"), std::string::npos);
  EXPECT_NE(with_auto({{"data.data_gpu", "1"}, {"data.model_gpu", "0"}})
                .find("--data-gpu and --model-gpu to have it measured"),
            std::string::npos);
  EXPECT_NE(with_auto({{"train.deterministic", "true"}}).find("--mode single"), std::string::npos);
  EXPECT_EQ(with_auto({{"devices.device", "cpu"}, {"devices.data_threads", "2"}}), "");
}

TEST(Consistency, AMemoryCapNeedsMemoryIsolation) {
  EXPECT_NE(complaint({{"devices.data_gpu_memory", "4096"}}).find("--enable-memory-isolation"),
            std::string::npos);
  EXPECT_NE(complaint({{"devices.model_gpu_memory", "4096"}}).find("--enable-memory-isolation"),
            std::string::npos);
}

TEST(Consistency, TwoGpusAndASplitOneExcludeEachOther) {
  EXPECT_NE(
      complaint({{"data.data_gpu", "1"}, {"data.model_gpu", "0"}, {"devices.split_gpu", "0"}}), "");
}

TEST(Consistency, LimitsThatKeepNoClipAndTwoKindsOfBatchAreRefused) {
  EXPECT_NE(complaint({{"data.min_seconds", "3"}, {"data.max_seconds", "2"}}), "");
  EXPECT_EQ(complaint({{"data.min_seconds", "3"}}), "");
  EXPECT_NE(complaint({{"data.min_chars_per_second", "31"}}), "");
  EXPECT_NE(complaint({{"train.batch_size", "4"}, {"train.batch_tokens", "4096"}}), "");
  EXPECT_EQ(complaint({{"train.batch_tokens", "4096"}}), "");
}

TEST(Consistency, GradientsThatAreReleasedCanBeNeitherClippedNorAddedUp) {
  EXPECT_EQ(complaint({{"train.release_gradients", "on"}, {"train.grad_clip", "1"}}),
            "train.release_gradients is on (flag --release-gradients) but train.grad_clip is 1.0 "
            "(flag --grad-clip); use --release-gradients off.");
  EXPECT_NE(complaint({{"train.release_gradients", "on"}, {"train.grad_accum", "2"}}), "");
  EXPECT_EQ(complaint({{"train.release_gradients", "on"}}), "");
  for (const char* kept : {"off", "auto"}) {
    EXPECT_EQ(complaint({{"train.release_gradients", kept},
                         {"train.grad_clip", "1"},
                         {"train.grad_accum", "2"}}),
              "")
        << kept;
  }
}

TEST(Consistency, APromptOfAnotherClipNeedsAnotherClipInTheBatch) {
  const Values other = {{"train.prompt_from", "speaker"}};
  const auto with = [&other](const std::string& key, const std::string& value) {
    Values all = other;
    all.emplace_back(key, value);
    return complaint(all);
  };
  EXPECT_EQ(complaint(other), "") << "what the memory allows is known later";
  EXPECT_NE(with("train.batch_size", "1").find("--batch-size 2"), std::string::npos);
  EXPECT_EQ(with("train.batch_size", "2"), "");
  EXPECT_EQ(with("train.batch_tokens", "4096"), "");
  EXPECT_NE(complaint({{"train.prompt_from", "speaker"},
                       {"train.batch_size", "2"},
                       {"train.prompt_mask", "peer"}})
                .find("train.prompt_mask"),
            std::string::npos);
}

TEST(Consistency, AWarmUpThatNeverEndsIsRefused) {
  EXPECT_NE(complaint({{"train.warmup_steps", "100"}, {"train.max_steps", "100"}}), "");
  EXPECT_EQ(complaint({{"train.warmup_steps", "99"}, {"train.max_steps", "100"}}), "");
  EXPECT_EQ(complaint({{"train.warmup_steps", "100"}}), "");
  const std::string of_a_stage = complaint({{"train.stages", "dvae,gpt"},
                                            {"train.stage_budget", "dvae=500,gpt=50"},
                                            {"train.warmup_steps", "100"}});
  EXPECT_NE(of_a_stage.find("train.stage_budget is gpt=50,dvae=500 (flag --stage-budget)"),
            std::string::npos)
      << of_a_stage;
}

TEST(Consistency, StagesComeInAnOrderInWhichEachLearnsFromTheOnesBefore) {
  for (const char* stages : {"dvae,gpt,decoder", "speaker,dvae,gpt,decoder", "dvae,decoder", "gpt",
                             "dvae,gpt,speaker,decoder"}) {
    EXPECT_EQ(complaint({{"train.stages", stages}}), "") << stages;
  }
  EXPECT_EQ(complaint({{"train.stages", "decoder,gpt,dvae"}}),
            "train.stages is decoder,gpt,dvae (flag --stages), but the part gpt learns from what "
            "dvae makes, so that dvae comes first; give --stages dvae,gpt,decoder.");
  for (const char* stages : {"gpt,dvae", "decoder,dvae", "decoder,gpt", "decoder,speaker"}) {
    EXPECT_NE(complaint({{"train.stages", stages}}), "") << stages;
  }
}

TEST(Consistency, AModelBringsItsOwnVocabulary) {
  EXPECT_NE(complaint({{"train.init", "xtts"}, {"train.vocab", "vocab.json"}})
                .find("vocab extend --model xtts --language CODE"),
            std::string::npos);
  EXPECT_EQ(complaint({{"train.vocab", "vocab.json"}}), "");
}

TEST(Consistency, WhatMeasuresNeedsClipsToMeasureOn) {
  for (const auto& [key, value] : Values{{"run.early_stopping", "3"},
                                         {"run.eval_steps", "10"},
                                         {"run.test_sentences", "s"},
                                         {"run.judge", "whisper=base"},
                                         {"train.hand_on", "best"}}) {
    const Values asked = {{key, value}};
    EXPECT_EQ(complaint(asked), "") << key;
    Values without = asked;
    without.emplace_back("data.val_fraction", "0");
    EXPECT_NE(complaint(without).find(key), std::string::npos) << key;
    without.emplace_back("data.val_data", "held-out");
    EXPECT_EQ(complaint(without), "") << key;
  }
}

TEST(Consistency, AJudgeNeedsSamplesAndWhatItHearsNeedsAJudge) {
  EXPECT_NE(complaint({{"run.judge", "whisper=base"}, {"run.samples", "0"}}).find("--samples 3"),
            std::string::npos);
  EXPECT_EQ(
      complaint({{"run.judge", "whisper=base"}, {"run.samples", "0"}, {"run.test_sentences", "s"}}),
      "");
  EXPECT_NE(complaint({{"run.best_by", "cer"}}).find("--judge whisper="), std::string::npos);
  EXPECT_EQ(complaint({{"run.best_by", "cer"}, {"run.judge", "whisper=base"}}), "");
}

TEST(Consistency, NumbersThatAreNoneOrAbsurdAreRefused) {
  for (const char* key : {"train.lr", "train.weight_decay", "train.grad_clip", "train.dropout",
                          "train.spike_factor", "run.save_minutes"}) {
    for (const char* value : {"nan", "inf", "-inf", "-1", "1e400"}) {
      ConfigSources sources;
      const Field* field = find_field(key);
      sources.flags.push_back({field, {value, false}, {Origin::Kind::Flag, field->flag, 0}});
      EXPECT_THROW(make_effective_config(sources), ConfigError) << key << ' ' << value;
    }
  }
  EXPECT_NE(complaint({{"train.lr", "0"}}), "") << "nothing would be learned";
  EXPECT_NE(complaint({{"train.lr", "2"}}), "");
  EXPECT_NE(complaint({{"train.dropout", "1"}}), "") << "nothing would be left";
}

std::vector<std::string> cautions_of(const Values& values) {
  ConfigSources sources;
  for (const auto& [key, value] : values) {
    const Field* field = find_field(key);
    sources.flags.push_back({field, {value, false}, {Origin::Kind::Flag, field->flag, 0}});
  }
  return cautions(make_effective_config(sources));
}

TEST(Cautions, EpochsThatEndARunBeforeItsStepsAreSaid) {
  RunConfig config;
  config.train.epochs = 3;
  config.train.max_steps = 100;
  const auto said = cautions_of_length(config, 27);
  ASSERT_EQ(said.size(), 1U);
  EXPECT_EQ(said[0].finding,
            "--epochs 3 ends the run after 27 steps, before the 100 of --max-steps");
  EXPECT_EQ(said[0].remedy, "Give --epochs 12 to have them all");
  EXPECT_TRUE(cautions_of_length(config, 100).empty());
  config.train.stage_budget = {{ModelPart::Gpt, {.steps = 100, .hours = 1.0}}};
  EXPECT_TRUE(cautions_of_length(config, 27).empty()) << "the corpus ends it";
}

TEST(Cautions, AreAboutSettingsThatAreAllowedAndSeldomMeant) {
  EXPECT_TRUE(cautions_of({}).empty());
  EXPECT_EQ(cautions_of({{"train.prompt_mask", "peer"}}).size(), 1U);
  EXPECT_TRUE(cautions_of({{"train.prompt_mask", "none"}}).empty());
  EXPECT_EQ(cautions_of({{"train.lr", "0.1"}}).size(), 1U);
  EXPECT_TRUE(cautions_of({{"train.lr", "0.01"}}).empty());
  EXPECT_EQ(cautions_of({{"run.keep_best", "2"}, {"data.val_fraction", "0"}}).size(), 1U);
  EXPECT_TRUE(cautions_of({{"data.val_fraction", "0"}}).empty()) << "nobody asked for the best";
  EXPECT_TRUE(cautions_of({{"run.keep_best", "2"}}).empty());
  EXPECT_EQ(cautions_of({{"run.save_steps", "none"}, {"run.save_minutes", "none"}}).size(), 1U);
  EXPECT_TRUE(cautions_of({{"run.save_steps", "none"}}).empty());
}

}  // namespace
}  // namespace myxtts::consistency_test
