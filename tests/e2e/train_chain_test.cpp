// SPDX-License-Identifier: Apache-2.0
//
// Several stages in one run directory, budgets in steps and minutes, and the sounds and pictures
// that measurements leave.
#include <algorithm>
#include <csignal>
#include <random>

#include "e2e/training_bench.h"
#include "support/corpus_maker.h"
#include "support/one_sentence.h"
#include "support/tone_corpus.h"

namespace myxtts::test::train_chain_test {
namespace {

namespace fs = std::filesystem;

class TrainChain : public TrainingBench {
 protected:
  TrainChain() : TrainingBench(8) {}

  static Words three_stages(const Words& more = {}) {
    Words words{"--stages",       "dvae,gpt,decoder",
                "--stage-budget", "dvae=3,gpt=3,decoder=2",
                "--max-steps",    "100",
                "--batch-size",   "2",
                "--save-steps",   "1"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }

  // The words behind `name` of the commands that a run ends with, as a shell takes them.
  static Words printed_command(const std::string& out, const std::string& name) {
    const std::string program = "myxtts ";
    const auto start = out.find(program, out.find("  " + name));
    if (start == std::string::npos) return {};
    Words words(1);
    bool quoted = false;
    for (auto at = start + program.size(); at < out.size() && out[at] != '\n'; ++at) {
      if (out[at] == '\'') {
        quoted = !quoted;
      } else if (out[at] == ' ' && !quoted) {
        words.emplace_back();
      } else {
        words.back() += out[at];
      }
    }
    return words;
  }

  std::int64_t step_of(const std::string& run) const {
    return nlohmann::json::parse(latest(run, "state.json")).at("step");
  }

  // Every measurement leaves sounds and pictures of every stage.
  void expect_samples(const std::string& run) const {
    const auto in = [&](const std::string& name) { return contents_of(path(run) / name); };
    for (const char* picture :
         {"dvae/samples/step-0000003/01.png", "dvae/samples/step-0000003/02.png",
          "gpt/samples/step-0000003/01.png", "decoder/samples/step-0000002/02.png"}) {
      EXPECT_TRUE(in(picture).starts_with("\x89PNG")) << picture;
    }
    for (const char* sound :
         {"gpt/samples/step-0000003/02.wav", "decoder/samples/step-0000002/01.wav",
          "decoder/samples/step-0000002/01-original.wav",
          "gpt/samples/step-0000003/02-original.wav",
          "dvae/samples/step-0000003/01-original.wav"}) {
      EXPECT_GT(in(sound).size(), 10'000u) << sound;
    }
    for (const char* stage : {"gpt/samples/step-0000003", "decoder/samples/step-0000002"}) {
      EXPECT_GT(in(std::string(stage) + "/01.txt").size(), 5U) << stage;
    }
    bool has_events = false;
    for (const auto& entry : fs::directory_iterator(path(run) / "decoder" / "samples")) {
      const std::string name = entry.path().filename().string();
      if (!name.starts_with("events.out")) continue;
      const std::string events = contents_of(entry.path());
      has_events = has(events, in("decoder/samples/step-0000002/01.wav")) &&
                   has(events, in("decoder/samples/step-0000002/01.png"));
    }
    EXPECT_TRUE(has_events);
  }
};

TEST_F(TrainChain, ThreeStagesFromNothingMakeOneModelThatSpeaksAndLeaveSoundsAndPictures) {
  const auto result = trained("run", three_stages({"--samples", "2"}));
  EXPECT_TRUE(has(result.err, "part 1 of 3: dvae, 3 steps, from nothing")) << result.err;
  EXPECT_TRUE(has(result.err, "part 3 of 3: decoder, 2 steps, from ")) << result.err;
  for (const char* stage : {"dvae", "gpt", "decoder"}) {
    EXPECT_TRUE(has(result.out, std::string(stage) + " ")) << result.out;
  }
  EXPECT_EQ(step_of("run/dvae"), 3);
  EXPECT_EQ(step_of("run/gpt"), 3);
  EXPECT_EQ(step_of("run"), 2) << "RUN/latest is the last stage's";
  EXPECT_EQ(fs::canonical(path("run") / "best"), fs::canonical(path("run/decoder") / "best"));
  EXPECT_EQ(latest("run", "dvae.safetensors"), latest("run/dvae", "dvae.safetensors"));
  EXPECT_EQ(latest("run", "vocab.json"), latest("run/dvae", "vocab.json"));
  EXPECT_NE(latest("run", "model.safetensors"), latest("run/gpt", "model.safetensors"));
  Words hear = printed_command(result.out, "hear it");
  ASSERT_FALSE(hear.empty()) << result.out;
  ASSERT_EQ(hear.back(), "hello.wav") << result.out;
  EXPECT_TRUE(has(result.out, "--model " + (path("run") / "best").string())) << result.out;
  EXPECT_TRUE(has(result.err, "step 3: 2 samples are in ")) << result.err;
  hear.back() = path("said.wav").string();
  for (Words words : {hear, printed_command(result.out, "measure it")}) {
    words.insert(words.end(), {"--quiet", "--device", "cpu"});
    const auto typed = run_program(words);
    EXPECT_EQ(typed.exit_code, 0) << words.front() << ": " << typed.err;
  }
  EXPECT_TRUE(fs::exists(path("said.wav")));
  EXPECT_FALSE(has(result.out, "export it")) << "the peer has no model of this size";
  const auto again = trained("run", three_stages({"--samples", "2", "--resume"}));
  EXPECT_FALSE(has(again.err, "part 1 of 3")) << "nothing is repeated";
  EXPECT_TRUE(has(again.out, "All 3 parts of " + path("run").string() +
                                 " are finished: nothing was left to train. To train decoder on, "
                                 "type:\n  myxtts train --config " +
                                 path("run").string() +
                                 "/config.yaml --resume --stage-budget decoder=4\n"))
      << again.out;
  EXPECT_TRUE(has(again.out, "--reference " + path("corpus").string())) << again.out;
  expect_samples("run");
}

TEST_F(TrainChain, KilledAtAnyInstantAndResumedItEndsWithTheSameBits) {
  const auto start = std::chrono::steady_clock::now();
  trained("whole", three_stages({"--resume", "--quiet"}));
  const auto time = std::chrono::duration_cast<std::chrono::milliseconds>(
      std::chrono::steady_clock::now() - start);
  std::mt19937 random(5);
  int kills = 0;
  {
    for (int number = 0; number < 3; ++number) {
      StartedProgram program(command("killed", three_stages({"--resume", "--quiet"})));
      std::uniform_int_distribution<std::int64_t> moment(0, time.count());
      if (program.ends_within(std::chrono::milliseconds(moment(random)))) continue;
      program.send(SIGKILL);
      kills += program.finish().exit_code == 128 + SIGKILL ? 1 : 0;
    }
  }
  EXPECT_GT(kills, 0);
  trained("killed", three_stages({"--resume", "--quiet"}));
  for (const char* file : {"model.safetensors", "dvae.safetensors", "vocab.json"}) {
    EXPECT_TRUE(latest("killed", file) == latest("whole", file)) << file;
  }
}

TEST_F(TrainChain, AFolderThatWasUsedIsRefusedWithoutResume) {
  trained("run", {"--stages", "gpt", "--stage-budget", "gpt=1"});
  const auto again = train("run", {"--quiet", "--stages", "gpt", "--stage-budget", "gpt=1"});
  EXPECT_EQ(again.exit_code, 3) << again.err;
  EXPECT_TRUE(has(again.err, "--resume")) << again.err;
  expect_one_sentence(again.err);
  const auto checked = train("run", {"--dry-run", "--stages", "dvae,gpt,decoder"});
  EXPECT_EQ(checked.exit_code, 1) << checked.out;
  EXPECT_TRUE(has(checked.out, "FAIL  run directory")) << checked.out;
  const auto visits = checked.err.find("an epoch visits");
  EXPECT_NE(visits, std::string::npos) << checked.err;
  EXPECT_EQ(checked.err.find("an epoch visits", visits + 1), std::string::npos) << "said once";
  for (const Words& more : {Words{}, Words{"--resume"}}) {
    Words alone{"--quiet", "--stage", "dvae", "--max-steps", "1"};
    alone.insert(alone.end(), more.begin(), more.end());
    const auto stage = train("run", alone);
    EXPECT_EQ(stage.exit_code, 2) << stage.err;
    EXPECT_TRUE(has(stage.err, "a run of several parts")) << stage.err;
    expect_one_sentence(stage.err);
  }
}

TEST_F(TrainChain, TheFolderSaysWhatItIsFromTheFirstStepOn) {
  {
    StartedProgram program(command("run", {"--stages", "dvae,gpt", "--stage-budget",
                                           "dvae=100000,gpt=1", "--max-steps", "100000"}));
    ASSERT_TRUE(program.has_said("Model training starting now"));
    program.send(SIGKILL);
    program.finish();
  }
  const std::string run = path("run");
  const std::string command_of_chain = "myxtts train --config " + run + "/config.yaml --resume";
  const auto alone = train("run", {"--quiet", "--stage", "gpt"});
  EXPECT_EQ(alone.exit_code, 2) << alone.err;
  EXPECT_TRUE(has(alone.err, "a run of several parts")) << alone.err;
  const auto resumed = train("other", {"--quiet", "--resume", run});
  EXPECT_EQ(resumed.exit_code, 3) << resumed.err;
  const auto spoken =
      run_program({"synthesize", "--quiet", "--device", "cpu", "--model", run, "--language", "en",
                   "--reference", path("corpus") / "wavs" / "clip00.wav", "--text", "a test",
                   "--out", path("said.wav")});
  EXPECT_EQ(spoken.exit_code, 3) << spoken.err;
  for (const auto& result : {resumed, spoken}) {
    EXPECT_TRUE(has(result.err, "a run of several parts that has saved no model yet"))
        << result.err;
    EXPECT_TRUE(has(result.err, command_of_chain)) << result.err;
    expect_one_sentence(result.err);
  }
}

// It comes when the last step of a stage is done.
TEST_F(TrainChain, ASignalAtTheEndOfAStageStopsTheChain) {
  write_tone_corpus(path("many"), 60);
  StartedProgram program(command(
      "run", {"--stages", "dvae,gpt", "--stage-budget", "dvae=2,gpt=100000", "--max-steps",
              "100000", "--train-data", path("many"), "--val-fraction", "0", "--samples", "60"}));
  ASSERT_TRUE(program.has_said("the last samples are being made"));
  program.send(SIGTERM);
  ASSERT_TRUE(program.ends_soon());
  const auto result = program.finish();
  EXPECT_EQ(result.exit_code, 143) << result.err;
  EXPECT_FALSE(has(result.err, "part 2 of 2")) << result.err;
  EXPECT_TRUE(has(result.err, "interrupted at step 2; to continue, type: myxtts train --config " +
                                  path("run").string() + "/config.yaml --resume"))
      << result.err;
  EXPECT_EQ(step_of("run"), 2);
}

TEST_F(TrainChain, ARaisedNumberOfStepsCountsWhenTheChainIsContinued) {
  trained("run", {"--stages", "gpt", "--max-steps", "1"});
  trained("run", {"--stages", "gpt", "--max-steps", "2", "--resume"});
  EXPECT_EQ(step_of("run/gpt"), 2);
}

TEST_F(TrainChain, ItsOwnConfigYamlContinuesItWithWhatEachStageHas) {
  const std::string recipe = path("recipe.yaml");
  write_text(recipe, "train: {stages: gpt, stage_budget: gpt=2}\nstages: {gpt: {lr: 0.002}}\n");
  auto words = command("run", {"--config", recipe, "--max-steps", "100"});
  // The bench's own rate is a flag, which would win.
  const auto rate = std::ranges::find(words, "--lr");
  words.erase(rate, rate + 2);
  const auto first = run_program(words);
  ASSERT_EQ(first.exit_code, 0) << first.err;
  EXPECT_EQ(curve("run/gpt", "lr"), (std::vector<double>{0.002, 0.002}));
  const auto more = run_program(
      {"train", "--config", path("run") / "config.yaml", "--resume", "--stage-budget", "gpt=4"});
  ASSERT_EQ(more.exit_code, 0) << more.err;
  EXPECT_EQ(curve("run/gpt", "lr"), std::vector<double>(4, 0.002));
}

TEST_F(TrainChain, MinutesEndARunInGoodOrderAndResumeGoesOn) {
  const Words endless{"--max-steps", "1000000", "--epochs", "1000000", "--max-minutes", "0.02"};
  const auto first = trained("run", endless);
  EXPECT_TRUE(has(first.err, "--max-minutes are over")) << first.err;
  const std::int64_t before = step_of("run");
  EXPECT_GT(before, 0);
  auto again = endless;
  again.emplace_back("--resume");
  trained("run", again);
  EXPECT_GT(step_of("run"), before) << "it has new minutes";
}

TEST_F(TrainChain, AStageWithABudgetOfMinutesIsOverAfterThemForGood) {
  const Words stage{"--stages", "gpt", "--stage-budget", "gpt=0.02m", "--max-steps", "1000000"};
  trained("run", stage);
  const std::int64_t steps = step_of("run/gpt");
  EXPECT_GT(steps, 0);
  EXPECT_EQ(
      nlohmann::json::parse(contents_of(path("run") / "chain.json")).at("finished")[0].at("steps"),
      steps);
  auto again = stage;
  again.emplace_back("--resume");
  trained("run", again);
  EXPECT_EQ(step_of("run/gpt"), steps);
}

TEST_F(TrainChain, SamplesChangeNothingOfWhatIsTrained) {
  trained("without", {"--max-steps", "4", "--eval-steps", "2"});
  trained("with", {"--max-steps", "4", "--eval-steps", "2", "--samples", "2"});
  EXPECT_EQ(latest("with", "model.safetensors"), latest("without", "model.safetensors"));
}

}  // namespace
}  // namespace myxtts::test::train_chain_test
