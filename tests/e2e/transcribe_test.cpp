// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "e2e/training_bench.h"
#include "support/program.h"
#include "support/temporary_folder.h"

namespace myxtts::test::transcribe_test {
namespace {

namespace fs = std::filesystem;

std::string tiny_whisper() {
  return fs::path(std::getenv("MYXTTS_TEST_DATA")) / "golden" / "whisper";
}

std::string speech() {
  return fs::path(std::getenv("MYXTTS_TEST_DATA")) / "golden" / "audio" / "speech.wav";
}

// Several clips, one of which is none.
TEST(Transcribe, EveryClipThatCanBeReadIsALineAndTheOthersAreNamed) {
  const TemporaryFolder folder;
  std::ofstream(folder / "broken.wav") << "no sound";
  const auto result =
      run_program({"transcribe", speech(), folder / "broken.wav", speech(), "--whisper",
                   tiny_whisper(), "--language", "de", "--json", "--device", "cpu"});
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_TRUE(has(result.err, "broken.wav is left out")) << result.err;
  EXPECT_TRUE(has(result.err, "1 of 3 clips could not be read")) << result.err;
  std::istringstream lines(result.out);
  std::vector<nlohmann::json> found;
  for (std::string line; std::getline(lines, line);) found.push_back(nlohmann::json::parse(line));
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0]["clip"], speech());
  EXPECT_EQ(found[0]["language"], "de");
  EXPECT_FALSE(found[0]["tokens"].empty());
  EXPECT_EQ(found[0]["text"], found[1]["text"]);
  EXPECT_LT(found[0]["log_probability"].get<double>(), 0);
}

TEST(Transcribe, WordsHaveTheirSeconds) {
  const Words words{"transcribe", speech(),  "--whisper", tiny_whisper(), "--language",
                    "de",         "--words", "--device",  "cpu",          "--timestamps"};
  const auto plain = run_program(words);
  EXPECT_EQ(plain.exit_code, 0) << plain.err;
  Words with_json = words;
  with_json.push_back("--json");
  const auto json = nlohmann::json::parse(run_program(with_json).out);
  ASSERT_FALSE(json.at("words").empty());
  std::string text;
  double before = 0;
  for (const auto& word : json.at("words")) {
    text += word.at("text").get<std::string>();
    EXPECT_GE(word.at("begin").get<double>(), before);
    EXPECT_LE(word.at("end").get<double>(), json.at("seconds").get<double>() + 0.02);
    before = word.at("begin");
  }
  EXPECT_TRUE(has(text, json.at("text").get<std::string>())) << text;
  const auto& first = json.at("words")[0];
  EXPECT_TRUE(plain.out.starts_with(fmt::format("{:.2f}-{:.2f} ", first.at("begin").get<double>(),
                                                first.at("end").get<double>())))
      << plain.out;
}

TEST(Transcribe, WhatCannotBeIsRefusedInOneSentence) {
  const auto refused = [](const Words& more) {
    Words words{"transcribe", speech(), "--device", "cpu"};
    words.insert(words.end(), more.begin(), more.end());
    return run_program(words);
  };
  const auto nowhere = refused({"--whisper", "/no/such/model"});
  EXPECT_EQ(nowhere.exit_code, 3);
  EXPECT_TRUE(has(nowhere.err, "OpenAI's file (base.pt), Hugging Face's folder")) << nowhere.err;
  const auto language = refused({"--whisper", tiny_whisper(), "--language", "qq"});
  EXPECT_EQ(language.exit_code, 2);
  EXPECT_TRUE(has(language.err, "does not know the language qq")) << language.err;
}

class Judge : public TrainingBench {
 protected:
  Judge() : TrainingBench(10) {}

  Words judged(const Words& more = {}) const {
    Words words{"--judge", "whisper=" + tiny_whisper(), "--samples", "1", "--eval-steps", "2"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
};

TEST_F(Judge, SamplesAreHeardBesideTrainingAndTheBestIsChosenByThem) {
  const auto result = trained("run", judged({"--max-steps", "4", "--best-by", "cer"}));
  EXPECT_TRUE(has(result.err, "character errors are heard in 1 sample; likeness of the voice"))
      << result.err;
  const auto lines = metrics("run", "samples");
  ASSERT_FALSE(lines.empty());
  EXPECT_EQ(lines.back().at("step"), 4);
  for (const auto& line : lines) {
    EXPECT_GE(line.at("sample_cer").get<double>(), 0.0);
    EXPECT_LE(std::abs(line.at("sample_similarity").get<double>()), 1.0 + 1e-6);
    EXPECT_EQ(line.at("samples"), 1);
  }
  EXPECT_TRUE(fs::exists(path("run") / "samples/step-0000004/01-heard.txt"));
  const auto scores =
      nlohmann::json::parse(contents_of(path("run") / "samples/step-0000004/01.json"));
  EXPECT_EQ(scores.at("cer"), lines.back().at("sample_cer")) << "it is the only one";
  EXPECT_EQ(scores.at("similarity"), lines.back().at("sample_similarity"));
  EXPECT_TRUE(has(result.out, "samples   1 to hear in ")) << result.out;
  const auto best = std::ranges::min_element(
      lines, {}, [](const auto& line) { return line.at("sample_cer").template get<double>(); });
  const auto sealed = nlohmann::json::parse(contents_of(path("run") / "best/checksums.json"));
  EXPECT_EQ(sealed.at("sample_cer"), best->at("sample_cer"));

  // Resumed, it goes on judging; what is trained is what is trained without.
  EXPECT_EQ(run_program({"train", "--resume", path("run"), "--max-steps", "6"}).exit_code, 0);
  EXPECT_EQ(metrics("run", "samples").back().at("step"), 6);
  trained("plain", {"--samples", "1", "--eval-steps", "2"});
  EXPECT_EQ(latest("run", "model.safetensors"), latest("plain", "model.safetensors"));
  EXPECT_TRUE(metrics("plain", "samples").empty());
}

TEST_F(Judge, EveryPartThatMakesSamplesIsHeard) {
  trained("run", judged({"--stages", "dvae,gpt,decoder", "--stage-budget", "dvae=2,gpt=2,decoder=2",
                         "--test-sentences", "none"}));
  for (const char* part : {"dvae", "gpt", "decoder"}) {
    EXPECT_FALSE(metrics(std::string("run/") + part, "samples").empty()) << part;
  }
}

TEST_F(Judge, WeightsThatAreNoneAreRefusedBeforeAnythingIsWritten) {
  const Words wrong{"--judge", "whisper=" + path("corpus").string(), "--samples", "1"};
  const auto result = train("run", wrong);
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_TRUE(has(result.err, "holds no Whisper. Whisper comes in three forms")) << result.err;
  EXPECT_FALSE(fs::exists(path("run")));
  Words checked = wrong;
  checked.push_back("--dry-run");
  const auto dry = train("run", checked);
  EXPECT_EQ(dry.exit_code, 1);
  EXPECT_TRUE(has(dry.out, "holds no Whisper")) << dry.out;
}

}  // namespace
}  // namespace myxtts::test::transcribe_test
