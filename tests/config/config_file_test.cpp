// SPDX-License-Identifier: Apache-2.0
#include <string>

#include <gtest/gtest.h>

#include "base/error.h"
#include "config/effective_config.h"
#include "support/effort.h"
#include "support/processor_time.h"
#include "support/temporary_file.h"

namespace myxtts::config_file_test {
namespace {

EffectiveConfig read(std::string_view yaml) {
  const test::TemporaryFile file(yaml);
  return make_effective_config({.preset = {}, .file = file.path(), .flags = {}});
}

// What is said about a file, without the folder it lies in.
std::string complaint(std::string_view yaml) {
  const test::TemporaryFile file(yaml);
  try {
    make_effective_config({.preset = {}, .file = file.path(), .flags = {}});
  } catch (const ConfigError& error) {
    std::string what = error.what();
    const std::string folder = file.path().parent_path().string() + "/";
    if (const auto at = what.find(folder); at != std::string::npos) what.erase(at, folder.size());
    return what;
  }
  return "nothing was thrown";
}

// Nothing was set: what follows by itself is the rate of a part from nothing.
RunConfig untouched() {
  RunConfig config;
  config.train.lr = facts_of(ModelPart::Gpt).rate_from_nothing;
  return config;
}

TEST(ConfigFile, TheKeysOfThePredecessorAreRead) {
  const auto config = read(
      "data:\n  num_workers: 8\n  prefetch_buffer_size: 6\n  pipeline_buffer_size: 75\n"
      "  model_start_delay: 1.5\n  data_gpu: 1\n  model_gpu: 0\n");
  const DataConfig expected{.data_gpu = 1,
                            .model_gpu = 0,
                            .num_workers = 8,
                            .pipeline_buffer_size = 75,
                            .prefetch_buffer_size = 6,
                            .model_start_delay = 1.5};
  EXPECT_EQ(config.values.data, expected);
  EXPECT_EQ(config.origin_of("data.model_start_delay").line, 5);
}

TEST(ConfigFile, AnEmptyFileSetsNothing) {
  for (const char* yaml :
       {"", "\n\n", "# only a comment\n", "---\n", "{}", "data:\ntrain: ~\n", "\xef\xbb\xbf"}) {
    EXPECT_EQ(read(yaml).values, untouched()) << yaml;
  }
}

TEST(ConfigFile, AutoNoneAndNothingLeaveAnOptionalSettingOpen) {
  const auto config =
      read("data: {num_workers: auto, data_gpu: none, model_gpu: null, val_data: }");
  EXPECT_EQ(config.values, untouched());
  EXPECT_EQ(config.origin_of("data.val_data").kind, Origin::Kind::File);
}

TEST(ConfigFile, QuotesMakeAFolderOfAWordWithAMeaning) {
  EXPECT_TRUE(read("data: {train_data: none}").values.data.train_data.empty());
  EXPECT_EQ(read("data: {train_data: 'none'}").values.data.train_data.at(0).path, "none");
  EXPECT_EQ(read("data: {cache_dir: 'auto'}").values.data.cache_dir, "auto");
}

TEST(ConfigFile, CorporaAreAPathOrAListOfPathsOrOfMaps) {
  const std::vector<CorpusSource> two = {
      {.path = "lj"},
      {.path = "a, b", .layout = CorpusLayout::Plain, .language = "fa", .weight = 2.5}};
  for (const char* yaml :
       {"data:\n  train_data: [lj, 'a, b,language=fa,weight=2.5,format=plain']\n",
        "data:\n  train_data:\n  - lj\n  - {path: 'a, b', format: plain, language: fa, weight: "
        "2.5}\n",
        "data:\n  train_data:\n  - path: lj\n  - path: a, b\n    weight: 2.5\n    language: fa\n"
        "    format: plain\n"}) {
    EXPECT_EQ(read(yaml).values.data.train_data, two) << yaml;
  }
  EXPECT_EQ(read("data: {val_data: {path: 'x,weight=3', weight: 2}}").values.data.val_data,
            (std::vector<CorpusSource>{{.path = "x,weight=3", .weight = 2.0}}));
  EXPECT_TRUE(read("data: {train_data: []}").values.data.train_data.empty());
  EXPECT_EQ(read("data:\n  train_data:\n  - a\n  - b\n").origin_of("data.train_data").line, 4);
}

TEST(ConfigFile, AWrongCorpusNamesItsLine) {
  EXPECT_EQ(complaint("data:\n  train_data:\n  - a\n  - b,wieght=2\n").substr(0, 74),
            "run.yaml:4: data.train_data takes the path of a folder or of a manifest, a");
  EXPECT_EQ(complaint("data:\n  train_data:\n  - a\n  - {pth: b}\n"),
            "run.yaml:4: A value of data.train_data has no 'pth'; it takes path, language, weight "
            "or format.");
  EXPECT_EQ(complaint("data:\n  val_data: {language: fa}\n"),
            "run.yaml:2: A value of data.val_data has no path; write one as in 'path: DIR'.");
  EXPECT_EQ(complaint("data:\n  val_data: {path: a, path: b}\n"),
            "run.yaml:2: path stands here a second time; keep one of the two.");
  EXPECT_NE(complaint("data: {train_data: [{path: a, language: 'fa,weight=3'}]}").find("takes"),
            std::string::npos);
  EXPECT_NE(complaint("data: {train_data: [[a]]}").find("is a list"), std::string::npos);
  EXPECT_NE(complaint("data: {train_data: [{path: [a]}]}").find("is a list"), std::string::npos);
  EXPECT_NE(complaint("data: {train_data: [a, ]}\ntrain: {seed: x}").find("run.yaml:2"),
            std::string::npos);
  EXPECT_NE(complaint("data: {train_data: [a, ~]}").find("empty value"), std::string::npos);
}

TEST(ConfigFile, DottedKeysMeanTheSameAsSections) {
  EXPECT_EQ(read("train.seed: 7").values.train.seed, 7);
  EXPECT_EQ(complaint("train.seed: 7\ntrain:\n  seed: 7\n"),
            "run.yaml:3: train.seed stands here a second time; keep one of the two.");
}

TEST(ConfigFile, ObsoleteKeysAreLeftAloneWhateverTheyHold) {
  const auto config = read(
      "data:\n  use_tf_native_loading: true\n  pin_memory: [1, {a: b}]\n"
      "  preprocessing_mode: {x: {y: z}}\n  num_workers: 3\n");
  EXPECT_EQ(config.values.data.num_workers, 3);
}

TEST(ConfigFile, AnUnknownKeyNamesTheNearestOne) {
  EXPECT_EQ(complaint("data:\n  num_worker: 3\n"),
            "run.yaml:2: There is no setting 'data.num_worker'; did you mean data.num_workers?");
  EXPECT_EQ(complaint("data: {seed: 3}"),
            "run.yaml:1: There is no setting 'data.seed'; did you mean train.seed?");
  EXPECT_EQ(complaint("data: {buffer_size: 3}"),
            "run.yaml:1: There is no setting 'data.buffer_size'; did you mean "
            "data.pipeline_buffer_size?");
  EXPECT_EQ(complaint("gradient_accumulation_steps: 3"),
            "run.yaml:1: There is no setting 'gradient_accumulation_steps'; did you mean "
            "train.grad_accum?");
  EXPECT_EQ(complaint("dta:\n"), "run.yaml:1: There is no setting 'dta'; did you mean data?");
  for (const auto& [yaml, meant] : std::vector<std::pair<std::string, std::string>>{
           {"train: {batch: 3}", "train.batch_size"},
           {"data: {dataset: x}", "data.train_data"},
           {"trainning:\n", "train"},
           {"dataset: x", "data.train_data"},
           {"train: {save: 3}", "run.save_steps"},
           {"trian.sed: 3", "train.seed"},
           {"stages: {gpt: {batch: 3}}", "stages.gpt.batch_size"},
           {"stages: {gtp: {lr: 3}}", "stages.gpt"}}) {
    EXPECT_NE(complaint(yaml).find("did you mean " + meant + "?"), std::string::npos)
        << complaint(yaml);
  }
  EXPECT_NE(complaint("zebra: 1").find("--format reference"), std::string::npos);
}

TEST(ConfigFile, AWrongValueNamesKeyLineAndWhatIsAllowed) {
  EXPECT_EQ(complaint("# first\ndata:\n  num_workers: many\n"),
            "run.yaml:3: data.num_workers takes a whole number from 1 to 1024, or auto, but was "
            "given 'many'.");
  EXPECT_EQ(complaint("train: {precision: bf61}"),
            "run.yaml:1: train.precision takes auto, fp32, tf32, bf16 or fp16, but was given "
            "'bf61'; did you mean bf16?");
  EXPECT_EQ(complaint("train:\n  seed:\n"),
            "run.yaml:2: train.seed has no value; it takes a whole number from 0 to "
            "9223372036854775807.");
  EXPECT_EQ(complaint("train: {lr: [1, 2]}"),
            "run.yaml:1: train.lr takes a number from 1e-12 to 1, or auto, but was given a list.");
}

TEST(ConfigFile, AnAliasBombIsRefusedAtItsFirstAlias) {
  EXPECT_NE(
      complaint("data:\n  pin_memory: &a [1, 1]\n  enable_xla: [*a, *a]\n").find(":3: Aliases"),
      std::string::npos);
  EXPECT_NE(complaint("data: &d {num_workers: 3}\ntrain: *d\n").find(":2: Aliases"),
            std::string::npos);
}

// Every one of them is within the size limit, and must be answered at once and without a deep
// stack.
TEST(ConfigFile, HostileFilesOfFullSizeAreAnsweredQuickly) {
  const std::size_t size = 1'000'000;
  const auto repeated = [size](std::string_view piece) {
    std::string text;
    while (text.size() + piece.size() <= size) text += piece;
    return text;
  };
  for (const std::string& hostile : {repeated("["),
                                     repeated("{"),
                                     repeated("- "),
                                     repeated("? "),
                                     repeated("{a: "),
                                     repeated("'"),
                                     repeated("\""),
                                     repeated("&a "),
                                     repeated("*a "),
                                     repeated("!!"),
                                     repeated("a: "),
                                     repeated("%"),
                                     repeated("|\n"),
                                     repeated("---\n"),
                                     repeated("a:\n"),
                                     repeated(" "),
                                     repeated("a"),
                                     "data: {pin_memory: " + repeated("[").substr(100),
                                     "data: {pin_memory: " + repeated("{x: ").substr(100),
                                     "data: {pin_memory: [" + repeated("1,")}) {
    const double start = test::thread_seconds();
    const std::string what = complaint(hostile.substr(0, size));
    EXPECT_LT(test::thread_seconds() - start, 10.0) << hostile.substr(0, 40) << ": " << what;
  }
}

TEST(ConfigFile, AnyBytesGiveSettingsOrAConfigError) {
  std::uint64_t state = 7;
  const auto random = [&state](std::size_t below) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    return static_cast<std::size_t>(state >> 33U) % below;
  };
  const std::string seed_text =
      "data:\n  num_workers: 8 # x\n  train_data: \"a\\tb\"\ntrain: {lr: 1e-4, seed: [1, *a]}\n&a "
      "!b |\n- ?";
  int refused = 0;
  for (int round = 0; round < test::repetitions(3000); ++round) {
    std::string text = seed_text;
    for (std::size_t edit = random(8); edit > 0; --edit) {
      const char byte =
          random(2) == 0 ? "\n :-#[]{}&*!|>'\"%@,?"[random(21)] : static_cast<char>(random(256));
      if (random(2) == 0) {
        text[random(text.size())] = byte;
      } else {
        text.erase(random(text.size() / 2), random(10));
      }
    }
    refused += complaint(text) == "nothing was thrown" ? 0 : 1;
  }
  EXPECT_GT(refused, test::repetitions(2000));
}

}  // namespace
}  // namespace myxtts::config_file_test
