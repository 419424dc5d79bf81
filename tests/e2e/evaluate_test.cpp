// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "audio/resample.h"
#include "run/open_model.h"
#include "support/program.h"
#include "support/temporary_folder.h"
#include "support/tone_corpus.h"
#include "synth/clip_evaluator.h"
#include "text/tokenizer.h"

namespace myxtts::test::evaluate_test {
namespace {

using Json = nlohmann::json;

class Evaluate : public testing::Test {
 protected:
  Evaluate() {
    write_tiny_model(folder_ / "model");
    write_tone_corpus(folder_ / "corpus", 4);
    write_tone(folder_ / "corpus/wavs/long.wav", 333.0, 5.5);  // longer than the prompt
    add_line(folder_ / "corpus", "long",
             "sixty five letters or a few more, which is what somebody says in it");
  }

  ProgramResult evaluate(std::vector<std::string> more) const {
    std::vector<std::string> arguments = {"evaluate",
                                          "--model",
                                          (folder_ / "model").string(),
                                          "--data",
                                          (folder_ / "corpus").string(),
                                          "--device",
                                          "cpu",
                                          "--cache-dir",
                                          (folder_ / "cache").string()};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_program(arguments);
  }

  static std::vector<Json> lines_of(const std::string& text) {
    std::vector<Json> lines;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) lines.push_back(Json::parse(line));
    return lines;
  }

  TemporaryFolder folder_;
};

TEST_F(Evaluate, GivesALineForEachClipAndThenTheSums) {
  const auto result = evaluate({"--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const auto lines = lines_of(result.out);
  ASSERT_EQ(lines.size(), 6U);
  const auto& sums = lines.back();
  EXPECT_EQ(sums.at("clips"), 5);
  for (const auto* name : {"loss_text_ce", "loss_mel_ce", "loss"}) {
    double mean = 0.0;
    for (std::size_t i = 0; i < 5; ++i) mean += lines[i].at(name).get<double>() / 5.0;
    EXPECT_NEAR(sums.at("mean_over_clips").at(name).get<double>(), mean, 1e-9) << name;
    EXPECT_TRUE(std::isfinite(sums.at(name).get<double>()));
  }
  for (const auto& line : lines) {
    EXPECT_NEAR(line.at("loss").get<double>(),
                line.at("loss_text_ce").get<double>() + line.at("loss_mel_ce").get<double>(), 1e-9);
  }
}

TEST_F(Evaluate, ALongClipHasThePromptAndTheLossesOfThePeersConditions) {
  const auto result = evaluate({"--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const auto model = open_model(folder_ / "model");
  const auto vocabulary = Vocabulary::load(folder_ / "model/vocab.json");
  const TextEncoder encoder(vocabulary, Language::En);
  const auto ids = encoder
                       .encode(
                           "sixty five letters or a few more, which is what somebody says in "
                           "it")
                       .ids;
  const std::vector<std::int64_t> text(ids.begin(), ids.end());
  const auto score = ClipEvaluator(model, c10::Device(c10::kCPU))(
      read_clip(folder_ / "corpus/wavs/long.wav", 22050), {.first = 0, .last = 99'225}, text);
  for (const auto& line : lines_of(result.out)) {
    if (!line.contains("clip") ||
        line.at("clip").get<std::string>().find("long") == std::string::npos) {
      continue;
    }
    EXPECT_NEAR(line.at("loss_text_ce").get<double>(), 0.01 * score.text, 1e-6);
    EXPECT_NEAR(line.at("loss_mel_ce").get<double>(), score.audio, 1e-5);
    return;
  }
  FAIL() << "the long clip is not among the lines";
}

TEST_F(Evaluate, LeavesABadClipOutAndSaysSo) {
  std::ofstream(folder_ / "corpus/wavs/broken.wav") << "no sound at all";
  add_line(folder_ / "corpus", "broken", "sixteen letters or so");
  const auto result = evaluate({"--json", "--max-skipped", "0.5"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(lines_of(result.out).back().at("clips"), 5);
  EXPECT_NE(result.err.find("unreadable"), std::string::npos) << result.err;
}

TEST_F(Evaluate, AClipThatCannotBeDecodedIsLeftOutUntilThereAreTooMany) {
  ASSERT_EQ(evaluate({}).exit_code, 0);
  // What the index knows of it stays as it was, so that only decoding finds it out.
  const auto clip = folder_ / "corpus/wavs/clip01.wav";
  const auto changed = std::filesystem::last_write_time(clip);
  std::fstream(clip, std::ios::in | std::ios::out | std::ios::binary) << "no sound at all";
  std::filesystem::last_write_time(clip, changed);
  const auto result = evaluate({"--json", "--max-skipped", "0.2"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(lines_of(result.out).back().at("clips"), 4);
  EXPECT_NE(result.err.find("clip01.wav is left out"), std::string::npos) << result.err;

  const auto strict = evaluate({"--json", "--max-skipped", "0.1"});
  EXPECT_EQ(strict.exit_code, 3);
  EXPECT_NE(strict.err.find("1 of 5 clips cannot be used"), std::string::npos) << strict.err;
}

TEST_F(Evaluate, ColumnsForPeopleEndInTheSums) {
  const auto result = evaluate({});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE(result.out.find("all tokens of 5 clips"), std::string::npos) << result.out;
  std::istringstream columns(result.out);
  std::string head;
  std::getline(columns, head);
  EXPECT_EQ(head, "loss     text_loss  audio_loss  clip");
  double loss = 0;
  double text = 0;
  double codes = 0;
  columns >> loss >> text >> codes;
  EXPECT_NEAR(loss, 0.01 * text + codes, 1e-4) << result.out;
}

TEST_F(Evaluate, AModelWithoutAFileIsAnErrorWithItsName) {
  std::filesystem::remove(folder_ / "model/dvae.safetensors");
  const auto result = evaluate({});
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_NE(result.err.find("dvae.safetensors"), std::string::npos) << result.err;
}

}  // namespace
}  // namespace myxtts::test::evaluate_test
