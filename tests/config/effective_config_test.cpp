// SPDX-License-Identifier: Apache-2.0
#include "config/effective_config.h"

#include <cstdint>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "base/error.h"
#include "support/effort.h"
#include "support/temporary_file.h"

namespace myxtts::effective_config_test {
namespace {

Setting flag(const std::string& key, const std::string& value) {
  const Field* field = find_field(key);
  return {field, {value, false}, {Origin::Kind::Flag, field->flag, 0}};
}

TEST(EffectiveConfig, FlagsWinOverTheFileAndTheFileOverThePreset) {
  const test::TemporaryFile file("data: {data_gpu: 2}\ntrain: {seed: 5, lr: 0.1}\n");
  const auto config = make_effective_config(
      {.preset = "two-gpu", .file = file.path(), .flags = {flag("train.lr", "0.2")}});
  EXPECT_EQ(config.values.data.model_gpu, 1);
  EXPECT_EQ(config.values.data.data_gpu, 2);
  EXPECT_EQ(config.values.train.seed, 5);
  EXPECT_EQ(config.values.train.lr, 0.2);
  EXPECT_EQ(describe(config.origin_of("data.model_gpu")), "preset two-gpu");
  EXPECT_EQ(describe(config.origin_of("data.data_gpu")), file.string() + ":1");
  EXPECT_EQ(describe(config.origin_of("train.seed")), file.string() + ":2");
  EXPECT_EQ(describe(config.origin_of("train.lr")), "flag --lr");
  EXPECT_EQ(describe(config.origin_of("train.epochs")), "default");
}

TEST(EffectiveConfig, CorporaOfAStrongerSourceReplaceThoseOfAWeakerOne) {
  const test::TemporaryFile file("data: {train_data: [a, b], val_data: c}\n");
  Setting second = flag("data.train_data", "e");
  second.is_first = false;
  const auto config =
      make_effective_config({.file = file.path(), .flags = {flag("data.train_data", "d"), second}});
  EXPECT_EQ(config.values.data.train_data,
            (std::vector<CorpusSource>{{.path = "d"}, {.path = "e"}}));
  EXPECT_EQ(config.values.data.val_data, std::vector<CorpusSource>{{.path = "c"}});
  const auto none =
      make_effective_config({.file = file.path(), .flags = {flag("data.train_data", "none")}});
  EXPECT_TRUE(none.values.data.train_data.empty());
}

TEST(EffectiveConfig, EveryPresetIsAllowedAndChangesSomething) {
  for (const std::string& name : preset_names()) {
    EXPECT_NE(make_effective_config({.preset = name}).values, make_effective_config({}).values)
        << name;
  }
  EXPECT_THROW(make_effective_config({.preset = "three-gpu"}), ConfigError);
}

TEST(EffectiveConfig, EverySettingHasItsOwnKeyAndFlagsAndASentence) {
  std::set<std::string> keys;
  std::set<std::string> flags;
  for (const Field& field : all_fields()) {
    EXPECT_TRUE(keys.insert(field.key).second) << field.key;
    EXPECT_TRUE(flags.insert(field.flag).second) << field.flag;
    if (!field.negative_flag.empty()) {
      EXPECT_TRUE(flags.insert(field.negative_flag).second) << field.key;
    }
    EXPECT_TRUE(field.sentence.ends_with('.')) << field.key;
    EXPECT_EQ(field.negative_flag.empty(), !field.placeholder.empty()) << field.key;
  }
}

TEST(EffectiveConfig, EveryFlagOfTrainIsDeclared) {
  for (const char* name : {"--train-data",
                           "--val-data",
                           "--data-gpu",
                           "--model-gpu",
                           "--batch-size",
                           "--epochs",
                           "--max-steps",
                           "--buffer-size",
                           "--prefetch-buffer-size",
                           "--model-start-delay",
                           "--num-workers",
                           "--cache-dataset",
                           "--grad-accum",
                           "--model-size",
                           "--enable-static-shapes",
                           "--enable-memory-isolation",
                           "--data-gpu-memory",
                           "--model-gpu-memory",
                           "--checkpoint-dir",
                           "--resume",
                           "--lr",
                           "--seed",
                           "--precision",
                           "--mode",
                           "--device",
                           "--split-gpu",
                           "--transfer-path",
                           "--init",
                           "--language",
                           "--stage",
                           "--deterministic"}) {
    const auto fields = all_fields();
    EXPECT_TRUE(std::any_of(fields.begin(), fields.end(), [name](const Field& field) {
      return field.flag == name;
    })) << name;
  }
}

// The least bit of a table row that is bound to the wrong member shows here.
TEST(EffectiveConfig, EveryFieldSetsAMemberOfItsOwn) {
  std::vector<RunConfig> changed;
  for (const Field& field : all_fields()) {
    RunConfig config;
    std::vector<std::string> candidates = {
        "7",  "4096", "0.5",      "true",   "false",        "folder",       "fa",
        "on", "fa=2", "dvae,gpt", "gpt=8m", "whisper=base", "http://server"};
    candidates.insert(candidates.end(), field.choices.begin(), field.choices.end());
    for (const std::string& candidate : candidates) {
      if (field.assign({candidate, false}, config) && config != RunConfig{}) break;
    }
    EXPECT_NE(config, RunConfig{}) << field.key;
    for (const RunConfig& other : changed) EXPECT_NE(config, other) << field.key;
    changed.push_back(config);
  }
}

class RandomSettings {
 public:
  explicit RandomSettings(std::uint64_t seed) : state_(seed * 2 + 1) {}

  std::size_t below(std::size_t count) {
    state_ = state_ * 6364136223846793005U + 1442695040888963407U;
    return static_cast<std::size_t>(state_ >> 33U) % count;
  }

  // A value that may or may not be allowed for the field.
  Scalar value(const Field& field) {
    static const std::vector<std::string> hard = {"none",
                                                  "auto",
                                                  "null",
                                                  "~",
                                                  "true",
                                                  "a b",
                                                  " a",
                                                  "a ",
                                                  "#a",
                                                  "a: b",
                                                  "a #b",
                                                  "- a",
                                                  "'",
                                                  "\"",
                                                  "\\",
                                                  "a\nb",
                                                  "a\tb",
                                                  "\x01",
                                                  "\x7f",
                                                  "\xc2\x85",
                                                  "\xe2\x80\xa8",
                                                  "\xef\xbb\xbf",
                                                  "\xf0\x9f\x98\x80",
                                                  "\xd9\x81\xd8\xa7\xd8\xb1\xd8\xb3\xdb\x8c",
                                                  "&a",
                                                  "*a",
                                                  "!a",
                                                  "|",
                                                  "%a",
                                                  "@a",
                                                  "`a",
                                                  "{a}",
                                                  "[a]",
                                                  "?",
                                                  "-",
                                                  ":",
                                                  "a:",
                                                  "0:16",
                                                  "1e-5",
                                                  "0.25",
                                                  "1",
                                                  "42",
                                                  "fa",
                                                  "zh-cn",
                                                  "C:\\x",
                                                  "...",
                                                  "---",
                                                  "=",
                                                  "<<"};
    if (!field.choices.empty() && below(2) == 0)
      return {field.choices[below(field.choices.size())], false};
    if (below(3) == 0) return {std::to_string(below(3000)), false};
    return {hard[below(hard.size())] + (below(4) == 0 ? hard[below(hard.size())] : ""),
            below(2) == 0};
  }

 private:
  std::uint64_t state_;
};

TEST(EffectiveConfig, WhatIsPrintedReadsBackAsTheSameConfiguration) {
  int checked = 0;
  for (int seed = 0; seed < test::repetitions(3000); ++seed) {
    RandomSettings random(static_cast<std::uint64_t>(seed));
    EffectiveConfig config{.values = {}, .origins = std::vector<Origin>(all_fields().size())};
    for (std::size_t count = random.below(12); count > 0; --count) {
      const Field& field = all_fields()[random.below(all_fields().size())];
      field.assign(random.value(field), config.values);  // what is not allowed changes nothing
    }
    try {
      check_consistency(config);
    } catch (const ConfigError&) {
      continue;
    }
    if (!config.values.train.lr) config.values.train.lr = 1e-3;  // it would be settled
    const std::string yaml = print_config(config);
    const test::TemporaryFile file(yaml);
    const auto again = make_effective_config({.file = file.path()});
    ASSERT_EQ(again.values, config.values) << yaml;
    for (const Origin& origin : again.origins) ASSERT_EQ(origin.kind, Origin::Kind::File) << yaml;
    ++checked;
  }
  EXPECT_GT(checked, test::repetitions(1000));
}

// The rate of the settings, and why it is this one.
std::string rate(const ConfigSources& sources) {
  const auto lines = settled_rates(make_effective_config(sources));
  return lines.empty() ? "chosen" : lines.back();
}

TEST(EffectiveConfig, TheRateFollowsFromWhatThePartStartsFrom) {
  EXPECT_EQ(rate({}), "lr 0.0002 for gpt: the part starts from nothing");
  EXPECT_EQ(rate({.flags = {flag("train.lr", "0.1")}}), "chosen");
  EXPECT_EQ(rate({.flags = {flag("train.init", "model")}}),
            "lr 5e-06 for gpt: the part starts from trained weights");
  const ConfigSources after_dvae{.flags = {flag("train.init", "model")},
                                 .is_untrained = [](const auto& init, ModelPart part) {
                                   return init == "model" && part == ModelPart::Gpt;
                                 }};
  EXPECT_EQ(rate(after_dvae), "lr 0.0002 for gpt: the part starts from nothing");
  EXPECT_EQ(rate({.flags = {flag("train.stage", "dvae")}}),
            "lr 0.0003 for dvae: usual for this part, whatever it starts from");

  const auto config = make_effective_config({});
  EXPECT_EQ(config.values.train.lr, 2e-4);
  EXPECT_EQ(describe(config.origin_of("train.lr")), "default: the part starts from nothing");
}

TEST(EffectiveConfig, EachPartOfAChainHasItsOwnRate) {
  const test::TemporaryFile file("stages: {gpt: {lr: auto}, decoder: {lr: 0.5}}\n");
  const auto config =
      make_effective_config({.file = file.path(), .flags = {flag("train.stages", "gpt,decoder")}});
  EXPECT_EQ(settled_rates(config),
            std::vector<std::string>{"lr 0.0002 for gpt: the part starts from nothing"});
  const std::string yaml = print_config(config);
  EXPECT_NE(yaml.find("  gpt:\n    lr: 0.0002  # default: the part starts from nothing\n"),
            std::string::npos)
      << yaml;
  const test::TemporaryFile printed(yaml);
  EXPECT_EQ(rate({.file = printed.path()}), "chosen");
}

TEST(EffectiveConfig, AResumedRunKeepsItsRate) {
  const auto resumed = [](const std::string& written) {
    const test::TemporaryFile file(written, "config.yaml");
    return rate({.flags = {flag("data.train_data", "corpus"),
                           flag("run.checkpoint_dir", file.path().parent_path().string()),
                           flag("run.resume", "latest"), flag("train.lr", "auto")}});
  };
  EXPECT_EQ(resumed("train: {lr: 0.003}\n"), "lr 0.003 for gpt: it is the run's own");
  EXPECT_EQ(resumed("stages: {dvae: {lr: 0.3}, gpt: {lr: 0.03}}\n"),
            "lr 0.03 for gpt: it is the run's own");
  EXPECT_EQ(resumed("train: {lr: auto}\n"), "lr 5e-06 for gpt: it is the run's own")
      << "as runs of earlier versions have it";
}

TEST(EffectiveConfig, AMessageSaysWhereASettingComesFromThatNobodyTyped) {
  const test::TemporaryFile file("train: {seed: 5}\ndevices: {enable_memory_isolation: true}\n");
  const auto config = make_effective_config(
      {.preset = "one-gpu", .file = file.path(), .flags = {flag("train.epochs", "3")}});
  EXPECT_EQ(with_origins(config, "--mode single needs a GPU; give --device cpu."),
            "--mode single (preset one-gpu) needs a GPU; give --device cpu.");
  EXPECT_EQ(with_origins(config, "--seed 5: no. --seed 57, --epochs 3."),
            "--seed 5 (" + file.string() + ":1): no. --seed 57, --epochs 3.");
  EXPECT_EQ(with_origins(config, "--enable-memory-isolation needs a GPU."),
            "--enable-memory-isolation (" + file.string() + ":2) needs a GPU.");
  EXPECT_EQ(with_origins(config, "--keep-last 3 is much; add --deterministic."),
            "--keep-last 3 (default) is much; add --deterministic.");
  for (const char* command :
       {"Sentences are missing; add them (myxtts vocab extend --seed 5 --out new).",
        "It cannot speak. To train it, type:\n  myxtts train --seed 5 --mode single",
        "That is not there; give --data-gpu 0 --seed 5."}) {
    EXPECT_EQ(with_origins(config, command), command) << "an origin cannot be typed";
  }
  EXPECT_EQ(with_origins(config, "Type (myxtts train --seed 5) for --seed 5."),
            "Type (myxtts train --seed 5) for --seed 5 (" + file.string() + ":1).");
}

TEST(EffectiveConfig, AFileWithALineBreakInItsNameCannotBreakTheComments) {
  const test::TemporaryFile file("train: {seed: 5}\n", "a\nseed: 6 #.yaml");
  const auto config = make_effective_config({.file = file.path()});
  const test::TemporaryFile printed(print_config(config));
  EXPECT_EQ(make_effective_config({.file = printed.path()}).values, config.values);
}

}  // namespace
}  // namespace myxtts::effective_config_test
