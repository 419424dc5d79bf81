// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "support/one_sentence.h"
#include "support/program.h"
#include "support/temporary_folder.h"
#include "support/tone_corpus.h"

namespace myxtts::test::profile_test {
namespace {

using Json = nlohmann::json;
namespace fs = std::filesystem;

std::string text_of(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

class ProfileCommand : public testing::Test {
 protected:
  ProgramResult profile(std::vector<std::string> more) const {
    std::vector<std::string> arguments = {"profile", "--device",        "cpu", "--model-size",
                                          "tiny",    "--batch-size",    "1",   "--num-steps",
                                          "4",       "--warm-up-steps", "2"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_program(arguments, {.environment = {"TMPDIR=" + (folder_ / "tmp").string(),
                                                   "XDG_CACHE_HOME=" + (folder_ / "c").string()}});
  }

  void SetUp() override { fs::create_directories(folder_ / "tmp"); }

  TemporaryFolder folder_;
};

TEST_F(ProfileCommand,
       MeasuresTheUsersCorpusAndLeavesNothingBehindAndWithACacheFindsItsClipsThere) {
  write_tone_corpus(folder_ / "corpus", 6);
  const auto before = fs::current_path();
  const auto result = profile({"--train-data", (folder_ / "corpus").string(), "--json", "-"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const auto json = Json::parse(result.out);
  EXPECT_GT(json.at("clips_per_second").get<double>(), 0);
  EXPECT_EQ(json.at("steps"), 4);
  EXPECT_EQ(json.at("step_ms").size(), 4);
  EXPECT_FALSE(json.at("resident_ms").empty());
  EXPECT_EQ(json.at("corpus"), (folder_ / "corpus").string());
  EXPECT_EQ(json.at("mode"), "cpu");
  EXPECT_EQ(json.at("stages").size(), 5);
  EXPECT_EQ(json.at("verdict"), json.at("findings").at(0).at("cause"));
  EXPECT_TRUE(fs::is_empty(folder_ / "tmp"));
  EXPECT_EQ(result.err.find("never trained"), std::string::npos)
      << "whether the model could speak does not matter here";

  // With a cache its clips are there before they are measured: nothing is encoded any more.
  const auto cached = profile({"--train-data", (folder_ / "corpus").string(), "--cache-dataset",
                               "--cache-dir", (folder_ / "cache").string(), "--json", "-"});
  ASSERT_EQ(cached.exit_code, 0) << cached.err;
  const auto encoding = [](const Json& profiled) {
    return profiled.at("features").at("encode_seconds").get<double>();
  };
  EXPECT_LT(encoding(Json::parse(cached.out)), 0.25 * encoding(json));
}

TEST_F(ProfileCommand, WithoutACorpusOneIsGeneratedAndThatIsSaid) {
  const auto page = folder_ / "page.html";
  const auto yaml = folder_ / "run.yaml";
  const auto trace = folder_ / "trace.json";
  const auto json_file = folder_ / "profile.json";
  const auto result = profile({"--json", json_file.string(), "--html", page.string(), "--apply",
                               yaml.string(), "--trace", trace.string()});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE(result.err.find("are generated"), std::string::npos) << result.err;
  EXPECT_NE(result.out.find("verdict"), std::string::npos);
  const auto json = Json::parse(text_of(json_file));
  EXPECT_EQ(json.at("corpus"), "generated");
  EXPECT_NE(text_of(page).find(json.at("clips_per_second").dump()), std::string::npos);
  EXPECT_FALSE(Json::parse(text_of(trace)).empty());

  const auto config = run_program({"config", "--config", yaml.string()});
  ASSERT_EQ(config.exit_code, 0) << config.err;
  EXPECT_NE(config.out.find("model_size: tiny"), std::string::npos);
  EXPECT_EQ(config.out.find("myxtts-corpus"), std::string::npos)
      << "the generated corpus is gone and must not be in the settings";
}

TEST_F(ProfileCommand, AStageThatItDoesNotMeasureIsRefused) {
  const auto result = profile({"--stage", "dvae"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_NE(result.err.find("--stage"), std::string::npos);
}

TEST_F(ProfileCommand, SeveralRanksAreRefusedWithWhatMeasuresThem) {
  const auto result = profile({"--ranks", "2"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_NE(result.err.find("leave --ranks out"), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("--compare"), std::string::npos) << result.err;
}

TEST_F(ProfileCommand, AComparisonRefusesWhatBelongsToOneProfile) {
  for (const std::vector<std::string>& wrong : {std::vector<std::string>{"--html", "a.html"},
                                                {"--apply", "a.yaml"},
                                                {"--trace", "a.json"},
                                                {"--warm-up-steps", "3"},
                                                {"--resident-steps", "3"}}) {
    std::vector<std::string> all = {"profile", "--device", "cpu", "--compare", "--quiet"};
    all.insert(all.end(), wrong.begin(), wrong.end());
    const auto result = run_program(all);
    EXPECT_EQ(result.exit_code, 2) << wrong[0] << result.err;
    EXPECT_NE(result.err.find("leave " + wrong[0] + " out"), std::string::npos) << result.err;
    expect_one_sentence(result.err);
  }
}

}  // namespace
}  // namespace myxtts::test::profile_test
