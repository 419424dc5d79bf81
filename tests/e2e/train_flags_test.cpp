// SPDX-License-Identifier: Apache-2.0
//
// Every flag of train does something that can be seen.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>

#include <fmt/format.h>

#include "e2e/training_bench.h"
#include "support/one_sentence.h"
#include "weights/tensor_files.h"

namespace myxtts::test::train_flags_test {
namespace {

namespace fs = std::filesystem;

class TrainFlags : public TrainingBench {
 protected:
  TensorsByName weights(const std::string& run) const {
    return read_tensors(path(run) / "latest" / "model.safetensors");
  }
  TensorsByName weights(const std::string& run, int step) const {
    return read_tensors(path(run) / "checkpoints" / fmt::format("step-{:07}", step) /
                        "model.safetensors");
  }
};

TEST_F(TrainFlags, FrozenParametersStayAsTheyAre) {
  trained("run", {"--max-steps", "3", "--save-steps", "1", "--freeze",
                  "gpt.text_embedding.*,gpt.conditioning_*"});
  const auto before = weights("run", 1);
  const auto after = weights("run", 3);
  for (const auto& [name, tensor] : before) {
    const bool frozen = name.starts_with("gpt.text_embedding.") ||
                        name.starts_with("gpt.conditioning_") || !name.starts_with("gpt.");
    if (!frozen) continue;
    EXPECT_TRUE(tensor.equal(after.at(name))) << name;
  }
  EXPECT_FALSE(before.at("gpt.mel_head.weight").equal(after.at("gpt.mel_head.weight")));
}

TEST_F(TrainFlags, TheRateFollowsScheduleAndWarmUp) {
  trained("warm", {"--max-steps", "4", "--warmup-steps", "3"});
  const auto warm = curve("warm", "lr");
  EXPECT_LT(warm[0], warm[1]);
  EXPECT_LT(warm[1], warm[2]);
  trained("cosine", {"--max-steps", "4", "--schedule", "cosine", "--lr", "0.002"});
  const auto cosine = curve("cosine", "lr");
  EXPECT_GT(cosine[0], 0.0018);
  EXPECT_GT(cosine[1], cosine[3]);
}

TEST_F(TrainFlags, ARateThatNobodyChoseFollowsFromWhatThePartStartsFrom) {
  const auto result = trained("run", {"--lr", "auto", "--max-steps", "1"});
  EXPECT_TRUE(has(result.err, "lr 0.0002 for gpt: the part starts from nothing")) << result.err;
  EXPECT_TRUE(has(result.err, "--buffer-size auto takes ")) << result.err;
  EXPECT_EQ(curve("run", "lr"), std::vector<double>{0.0002});
  EXPECT_TRUE(has(contents_of(path("run") / "config.yaml"), "lr: 0.0002 "));
  EXPECT_TRUE(has(contents_of(path("run") / "log.txt"), "the part starts from nothing"));

  const auto shown = [](const fs::path& init) {
    return run_program({"config", "--init", init}).out;
  };
  EXPECT_TRUE(
      has(shown(path("run") / "latest"), "# default: the part starts from trained weights"));
  EXPECT_TRUE(has(shown(path("run") / "latest"), "  lr: 5e-06 "));
  trained("dvae", {"--stage", "dvae", "--max-steps", "1"});  // which has no trained GPT
  EXPECT_TRUE(has(shown(path("dvae") / "latest"), "# default: the part starts from nothing"));

  // The run's own rate, whatever would follow from the settings now.
  trained("mine", {"--lr", "0.003", "--max-steps", "1"});
  const auto resumed = trained("mine", {"--lr", "auto", "--max-steps", "2", "--resume"});
  EXPECT_TRUE(has(resumed.err, "lr 0.003 for gpt: it is the run's own")) << resumed.err;
  EXPECT_EQ(curve("mine", "lr"), (std::vector<double>{0.003, 0.003}));
  const auto checked = train("new", {"--lr", "auto", "--dry-run"});
  EXPECT_TRUE(has(checked.out, "lr 0.0002 for gpt: the part starts from nothing")) << checked.out;
}

// Each of the first changes the arithmetic, so the second step is another one.
TEST_F(TrainFlags, WhatChangesTheStepChangesTheLossesAndWhatTradesMemoryForTimeDoesNot) {
  trained("usual", {"--max-steps", "4"});
  const auto usual = curve("usual", "loss");
  const std::vector<Words> changes{{"--dropout", "0"},        {"--grad-clip", "0.01"},
                                   {"--seed", "5"},           {"--prompt-mask", "none"},
                                   {"--weight-decay", "0.9"}, {"--lr", "0.0001"},
                                   {"--batch-size", "3"},     {"--grad-accum", "2"},
                                   {"--moments", "bf16"},     {"--moments", "8bit"}};
  int number = 0;
  for (Words change : changes) {
    const std::string run = "run" + std::to_string(++number);
    change.insert(change.end(), {"--max-steps", "4"});
    trained(run, change);
    EXPECT_NE(curve(run, "loss"), usual) << change[0] << ' ' << change[1];
  }

  trained("recompute", {"--max-steps", "4", "--recompute", "on"});
  trained("release", {"--max-steps", "4", "--release-gradients", "on"});
  trained("deterministic", {"--max-steps", "4", "--deterministic"});
  for (const char* run : {"recompute", "release", "deterministic"}) {
    const auto losses = curve(run, "loss");
    ASSERT_EQ(losses.size(), usual.size()) << run;
    for (std::size_t i = 0; i < usual.size(); ++i) EXPECT_NEAR(losses[i], usual[i], 1e-4) << run;
  }
}

TEST_F(TrainFlags, CheckpointsAndMeasurementsAreMadeAsAskedForAndEndARunThatGetsNoBetter) {
  trained("last",
          {"--save-steps", "1", "--keep-last", "2", "--keep-best", "0", "--eval-steps", "2"});
  EXPECT_EQ(checkpoints("last"), (Words{"step-0000005", "step-0000006"}));
  EXPECT_EQ(curve("last", "step", "validation"), (std::vector<double>{2, 4, 6}));
  trained("end", {"--save-steps", "none", "--save-minutes", "none", "--keep-best", "0",
                  "--val-fraction", "0"});
  EXPECT_EQ(checkpoints("end"), (Words{"step-0000006"}));
  EXPECT_TRUE(curve("end", "step", "validation").empty());
  trained("minutes", {"--save-steps", "none", "--save-minutes", "0.001", "--keep-last", "50",
                      "--max-steps", "8"});
  EXPECT_GT(checkpoints("minutes").size(), 1U);
  // A rate that moves nothing: no measurement is better than the first.
  const auto result = trained("early", {"--eval-steps", "1", "--early-stopping", "2", "--lr",
                                        "1e-12", "--max-steps", "50"});
  EXPECT_EQ(curve("early", "step").back(), 3) << result.err;
}

TEST_F(TrainFlags, LinesOfMetricsHistogramsAndTheTraceAreWritten) {
  trained("run", {"--log-steps", "3", "--histograms", "--trace", path("trace.json")});
  EXPECT_EQ(curve("run", "step"), (std::vector<double>{3, 6}));
  std::string events;
  for (const auto& entry : fs::directory_iterator(path("run"))) {
    if (has(entry.path().filename().string(), "tfevents")) events = contents_of(entry.path());
  }
  EXPECT_TRUE(has(events, "weights/gpt."));
  EXPECT_TRUE(has(events, "validation/audio_loss"));
  const std::string trace = contents_of(path("trace.json"));
  EXPECT_TRUE(nlohmann::json::accept(trace));
  for (const char* lane : {"features", "decode", "step"}) EXPECT_TRUE(has(trace, lane)) << lane;
}

TEST_F(TrainFlags, TestSentencesAreSpokenAtEachMeasurement) {
  std::ofstream(path("sentences.txt")) << "Letters here.\n\nSixteen or so.\n";
  const auto result = trained(
      "run", {"--max-steps", "2", "--eval-steps", "2", "--test-sentences", path("sentences.txt")});
  for (const char* file : {"01.wav", "02.wav"}) {
    EXPECT_GT(contents_of(path("run") / "samples/step-0000002" / file).size(), 44U) << result.err;
  }
}

TEST_F(TrainFlags, AVocabularyThatIsGivenIsUsedAndSettingsThatWereWrittenDownAskForNoSize) {
  trained("learnt", {"--max-steps", "1"});
  fs::copy_file(path("learnt") / "latest/vocab.json", path("vocab.json"));
  trained("given", {"--max-steps", "1", "--vocab", path("vocab.json")});
  EXPECT_EQ(latest("given", "vocab.json"), contents_of(path("vocab.json")));
  EXPECT_EQ(curve("given", "loss"), curve("learnt", "loss"));

  // A model brings its own size, beside settings that name another.
  const std::string model = path("learnt") / "latest";
  const auto printed = run_program({"config", "--init", model});
  ASSERT_EQ(printed.exit_code, 0) << printed.err;
  ASSERT_TRUE(has(printed.out, "model_size: normal")) << printed.out;
  std::ofstream(path("run.yaml")) << printed.out;
  const Words more{"--config", path("run.yaml"), "--init", model, "--max-steps", "1"};
  trained("second", more);

  Words asking = more;
  asking.insert(asking.end(), {"--model-size", "normal"});
  const auto refused = train("third", asking);
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_TRUE(has(refused.err, "is another size")) << refused.err;
}

TEST_F(TrainFlags, ABatchBeyondTheCorpusAndAValidationOnWhatIsTrainedAreSaid) {
  const auto typed =
      trained("typed", {"--max-steps", "1", "--batch-size", "40", "--val-data", path("corpus")});
  EXPECT_TRUE(has(typed.err,
                  "a batch of 40 clips is larger than the corpus, which has 16 to train on. Give "
                  "--batch-size 16."))
      << typed.err;
  EXPECT_TRUE(has(typed.err, "Every one of the 16 clips of --val-data is trained on too"))
      << typed.err;

  std::ofstream(path("recipe.yaml")) << "train: {batch_size: 40}\n";
  auto words = command("recipe", {"--max-steps", "1", "--config", path("recipe.yaml")});
  const auto batch = std::ranges::find(words, "--batch-size");
  words.erase(batch, batch + 2);
  const auto recipe = run_program(words);
  EXPECT_EQ(recipe.exit_code, 0) << recipe.err;
  EXPECT_TRUE(
      has(recipe.err, "a batch is 13 clips, all that there are to train on, in place of 40"))
      << recipe.err;
  EXPECT_FALSE(has(recipe.err, "larger than the corpus")) << recipe.err;
}

struct BadInput {
  Words flags;
  int exit_code;
  std::string words;
};

TEST_F(TrainFlags, WhatCannotBeTrainedIsRefusedInOneSentence) {
  const std::string nowhere = path("nowhere");
  const fs::path golden = fs::path(std::getenv("MYXTTS_TEST_DATA")) / "golden";
  std::ofstream(path("file")) << "x";
  std::ofstream(path("empty.txt")) << "\n";
  const std::vector<BadInput> table{
      {{"--train-data", nowhere}, 3, "nowhere"},
      {{"--init", nowhere}, 3, "nowhere"},
      {{"--vocab", nowhere}, 3, "nowhere"},
      {{"--vocab", path("file")}, 3, "is not a vocabulary"},
      {{"--checkpoint-dir", path("file")}, 3, "is not a folder"},
      {{"--resume", "17"}, 3, "17"},
      {{"--resume", nowhere}, 3, "nowhere"},
      {{"--freeze", "gpt.nothing.*"}, 2, "gpt.nothing.*"},
      {{"--test-sentences", nowhere}, 3, "nowhere"},
      {{"--test-sentences", path("empty.txt")}, 3, "holds no sentence"},
      {{"--language", "english"}, 2, "did you mean en?"},
      {{"--language", "xx", "--vocab", golden / "text/vocab.json"}, 2, "no token [xx]"},
      {{"--checkpoint-dir", path("corpus")}, 2, "is the folder of the corpus"},
      {{"--stages", "dvae,gtp"}, 2, "there is no stage 'gtp', did you mean gpt?"},
      {{"--stages", "decoder,gpt,dvae"}, 2, "give --stages dvae,gpt,decoder."},
      {{"--stages", "gpt,speaker,decoder,dvae"}, 2, "give --stages dvae,speaker,gpt,decoder."},
      {{"--stages", "gpt,dvae,gpt"}, 2, "gpt stands there twice."},
      {{"--stages", "dvae,speaker,gpt"}, 2, "The corpus has one speaker"},
      {{"--init", "xttsv2"}, 3, "There is no model xttsv2; did you mean --init xtts-v2?"},
      {{"--stage-budget", "dvae=1", "--stage-budget", "gpt=2"},
       2,
       "give it once, as in --stage-budget dvae=1,gpt=2."},
      {{"--lr", "nan"}, 2, "--lr"},
      {{"--lr", "2"}, 2, "--lr"},
      {{"--trace", path("file") / "x.json"}, 3, "x.json"},
      {{"--max-seconds", "0.9", "--min-seconds", "0.6"}, 3, "None of the 16 clips can be used"},
  };
  int number = 0;
  for (const BadInput& bad : table) {
    Words flags = bad.flags;
    flags.emplace_back("--quiet");
    const auto result = train("bad" + std::to_string(++number), flags);
    EXPECT_EQ(result.exit_code, bad.exit_code) << bad.words << "\n" << result.err;
    const auto last = result.err.rfind("myxtts: ");
    ASSERT_NE(last, std::string::npos) << bad.words << "\n" << result.err;
    EXPECT_TRUE(has(result.err.substr(last), bad.words)) << bad.words << "\n" << result.err;
    expect_one_sentence(result.err.substr(last));
    EXPECT_FALSE(fs::exists(path("bad" + std::to_string(number)))) << bad.words;
  }
}

}  // namespace
}  // namespace myxtts::test::train_flags_test
