// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "config/model_json.h"
#include "model/checkpoint_specs.h"
#include "model/network_specs.h"
#include "support/one_sentence.h"
#include "support/program.h"
#include "support/random_tensors.h"
#include "support/temporary_folder.h"
#include "support/tone_corpus.h"
#include "text/vocabulary.h"
#include "weights/safetensors.h"

namespace myxtts::vocab_test {
namespace {

namespace fs = std::filesystem;
using test::contents_of;
using test::run_program;

std::string vocabulary() {
  return std::string(std::getenv("MYXTTS_TEST_DATA")) + "/golden/text/vocab.json";
}

TEST(VocabExtend, APersianVocabularySpeaksPersian) {
  test::TemporaryFolder folder;
  std::ofstream(folder / "fa.txt") << "گربه کوچک پنجره را دید.\nگربه کوچک ژاله را دید.\n";
  const std::string out = (folder / "fa.json").string();
  const auto extended =
      run_program({"vocab", "extend", "--vocab", vocabulary(), "--language", "fa", "--text",
                   (folder / "fa.txt").string(), "--out", out, "--pieces", "10"});
  ASSERT_EQ(extended.exit_code, 0) << extended.err;
  const auto growth = nlohmann::json::parse(test::contents_of(folder / "fa.growth.json"));
  EXPECT_EQ(growth["rows"].size(), growth["new_rows"].get<int>() - growth["old_rows"].get<int>());

  const auto spoken = run_program({"tokenize", "--language", "fa", "--vocab", out},
                                  {.standard_input = "گربه كوچك\n"});
  ASSERT_EQ(spoken.exit_code, 0) << spoken.err;
  const auto line = nlohmann::json::parse(spoken.out);
  EXPECT_EQ(line["clean"], "گربه کوچک");
  EXPECT_EQ(line["pieces"][0], "[fa]");
  EXPECT_EQ(line["ids"][0], growth["old_rows"]);
  EXPECT_LT(line["ids"].size(), 10U);  // fewer than its letters

  const auto again = run_program({"vocab", "extend", "--vocab", out, "--language", "fa", "--text",
                                  (folder / "fa.txt").string(), "--out", out});
  EXPECT_EQ(again.exit_code, 2);
  EXPECT_NE(again.err.find("[fa] already"), std::string::npos) << again.err;
}

TEST(VocabExtend, WhatIsWrongWithTheRequestIsSaid) {
  test::TemporaryFolder folder;
  std::ofstream(folder / "blank.txt") << "\n  \n";
  const auto extend = [&](const std::string& vocab, const std::string& language,
                          const std::string& text) {
    return run_program({"vocab", "extend", "--vocab", vocab, "--language", language, "--text", text,
                        "--out", (folder / "out.json").string()});
  };
  const std::string blank = (folder / "blank.txt").string();
  EXPECT_EQ(extend(vocabulary(), "Persian!", blank).exit_code, 2);
  EXPECT_EQ(extend(vocabulary(), "fa", blank).exit_code, 3);
  EXPECT_EQ(extend(vocabulary(), "fa", "/nonexistent.txt").exit_code, 3);
  EXPECT_EQ(extend("/nonexistent.json", "fa", vocabulary()).exit_code, 3);
  EXPECT_FALSE(std::filesystem::exists(folder / "out.json"));
}

TEST(VocabExtend, ALanguageWithoutACleanerOfItsOwnIsTakenAndSaid) {
  test::TemporaryFolder folder;
  std::ofstream(folder / "text.txt") << "Un text scurt „și” încă un text scurt\n";
  for (const auto& [language, said] : {std::pair{"ro", true}, {"fa", false}}) {
    const std::string out = (folder / language).string() + ".json";
    const auto result =
        run_program({"vocab", "extend", "--vocab", vocabulary(), "--language", language, "--text",
                     (folder / "text.txt").string(), "--out", out});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(result.err.find("has no cleaner of its own") != std::string::npos, said)
        << result.err;
  }
  const auto spoken =
      run_program({"tokenize", "--language", "ro", "--vocab", (folder / "ro.json").string()},
                  {.standard_input = "ȘI „Text” – 12…\n"});
  ASSERT_EQ(spoken.exit_code, 0) << spoken.err;
  const auto line = nlohmann::json::parse(spoken.out);
  EXPECT_EQ(line["clean"], "și text - 12...");
  EXPECT_EQ(line["pieces"][0], "[ro]");
}

TEST(VocabExtend, TheAdviceToExtendIsACommandThatWorksAsTyped) {
  test::TemporaryFolder folder;
  fs::create_directory(folder / "my model");
  fs::copy_file(vocabulary(), folder / "my model/vocab.json");
  std::ofstream(folder / "my model/config.json") << "{}";
  const auto advice = [](const std::vector<std::string>& source) {
    std::vector<std::string> words = {"tokenize", "--language", "ro"};
    words.insert(words.end(), source.begin(), source.end());
    const auto refused = run_program(words, {.standard_input = "text\n"});
    EXPECT_EQ(refused.exit_code, 2);
    test::expect_one_sentence(refused.err);
    return refused.err;
  };
  const std::string model = (folder / "my model").string();
  const auto of_model = advice({"--model", model});
  EXPECT_NE(of_model.find("myxtts vocab extend --model '" + model +
                          "' --language ro --text sentences.txt --out '" + model + "-ro'"),
            std::string::npos)
      << of_model;
  fs::create_directories(folder / "runs/anna/checkpoints");
  fs::rename(folder / "my model", folder / "runs/anna/latest");
  const std::string run = (folder / "runs/anna").string();
  const auto of_run = advice({"--model", run + "/latest"});
  EXPECT_NE(of_run.find("--model " + run + "/latest --language ro --text sentences.txt --out " +
                        run + "-ro)"),
            std::string::npos)
      << of_run;
  fs::rename(folder / "runs/anna/latest", folder / "my model");
  fs::remove(folder / "my model/config.json");
  const auto of_file = advice({"--vocab", model + "/vocab.json"});
  EXPECT_NE(of_file.find("--vocab '" + model +
                         "/vocab.json' --language ro --text sentences.txt "
                         "--out '" +
                         model + "/vocab-ro.json'"),
            std::string::npos)
      << of_file;
}

// A model of the smallest size with the vocabulary of the golden texts.
class VocabExtendModel : public ::testing::Test {
 protected:
  VocabExtendModel() {
    const Vocabulary vocab = Vocabulary::load(vocabulary());
    config_.gpt.text_ids = vocab.rows();
    config_.gpt.start_text = vocab.start();
    config_.gpt.stop_text = vocab.stop();
    fs::create_directories(model_);
    fs::copy_file(vocabulary(), model_ / "vocab.json");
    const Licence licence = {.name = "Ours", .file = "LICENSE.txt", .accepted = true};
    std::ofstream(model_ / "config.json") << with_licence(print_model_config(config_), licence, "");
    std::ofstream(model_ / "LICENSE.txt") << "Ours\n";
    std::ofstream(folder_ / "fa.txt") << "گربه کوچک پنجره را دید.\nگربه کوچک ژاله را دید.\n";
    weights_.add(checkpoint_specs(config_));
    write_safetensors(model_ / "model.safetensors", weights_.views(), {{"format", "pt"}});
    test::RandomTensors dvae;
    dvae.add(dvae_specs(config_.dvae));
    write_safetensors(model_ / "dvae.safetensors", dvae.views(), {});
    test::RandomTensors voices;
    voices.add({{.name = "Ana.speaker_embedding", .shape = {1, 64, 1}}});
    write_safetensors(model_ / "voices.safetensors", voices.views(), {});
  }

  test::ProgramResult extend(const std::vector<std::string>& more = {}) const {
    std::vector<std::string> arguments = {"vocab",      "extend",
                                          "--model",    model_.string(),
                                          "--language", "fa",
                                          "--text",     (folder_ / "fa.txt").string(),
                                          "--out",      grown_.string(),
                                          "--pieces",   "10"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_program(arguments);
  }

  void expect_refused(const std::string& reason) const {
    const auto result = extend();
    EXPECT_EQ(result.exit_code, 3);
    test::expect_one_sentence(result.err);
    EXPECT_NE(result.err.find(reason), std::string::npos) << result.err;
    EXPECT_FALSE(fs::exists(grown_));
  }

  test::TemporaryFolder folder_;
  fs::path model_ = folder_ / "model";
  fs::path grown_ = folder_ / "grown";
  ModelConfig config_ = model_preset("tiny");
  test::RandomTensors weights_;
};

TEST_F(VocabExtendModel, AModelGrowsWithItsVocabularyAndSpeaksPersian) {
  const auto result = extend();
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const auto spoken = run_program({"tokenize", "--language", "fa", "--model", grown_.string()},
                                  {.standard_input = "گربه كوچك\n"});
  ASSERT_EQ(spoken.exit_code, 0) << spoken.err;
  const auto line = nlohmann::json::parse(spoken.out);
  EXPECT_EQ(line["pieces"][0], "[fa]");
  EXPECT_EQ(line["ids"][0], config_.gpt.text_ids);

  ModelConfig wanted = config_;
  wanted.gpt.text_ids = Vocabulary::load(grown_ / "vocab.json").rows();
  EXPECT_GT(wanted.gpt.text_ids, config_.gpt.text_ids + 7) << "the tag, letters and pieces";
  const std::string json = contents_of(grown_ / "config.json");
  EXPECT_EQ(parse_model_config(json, "x"), wanted);
  EXPECT_EQ(parse_model_config(public_config(json, "x"), "x").gpt.text_ids, wanted.gpt.text_ids);
  for (const char* file : {"dvae.safetensors", "voices.safetensors", "LICENSE.txt"}) {
    EXPECT_EQ(contents_of(grown_ / file), contents_of(model_ / file)) << file;
  }
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_.path()), {}), 3) << "nothing left over";
}

TEST_F(VocabExtendModel, EveryOldNumberOfTheWeightsIsWhereItWas) {
  ASSERT_EQ(extend().exit_code, 0);
  config_.gpt.text_ids = Vocabulary::load(grown_ / "vocab.json").rows();
  const SafetensorsReader read(grown_ / "model.safetensors");
  ASSERT_EQ(read.tensors().size(), weights_.views().size());
  std::size_t grown = 0;
  for (const TensorSpec& spec : checkpoint_specs(config_)) {
    const TensorView& view = read.at(spec.name);
    const TensorView& old = weights_.views().at(spec.name);
    EXPECT_EQ(view.shape, spec.shape) << spec.name;
    ASSERT_GE(view.bytes.size(), old.bytes.size()) << spec.name;
    EXPECT_TRUE(std::ranges::equal(view.bytes.first(old.bytes.size()), old.bytes)) << spec.name;
    grown += view.bytes.size() > old.bytes.size() ? 1 : 0;
  }
  EXPECT_EQ(grown, 3U);

  const auto& embedding = read.at("gpt.text_embedding.weight");
  const auto row = [&](std::int64_t id) {
    const auto bytes = static_cast<std::size_t>(config_.gpt.width) * sizeof(float);
    return embedding.bytes.subspan(static_cast<std::size_t>(id) * bytes, bytes);
  };
  const Vocabulary vocab = Vocabulary::load(grown_ / "vocab.json");
  EXPECT_TRUE(std::ranges::equal(row(*vocab.find("[fa]")), row(*vocab.find("[ar]"))));
}

TEST_F(VocabExtendModel, AFolderThatExistsIsReplacedOnlyWhenToldTo) {
  fs::create_directories(grown_);
  std::ofstream(grown_ / "config.json") << "mine";
  const auto refused = extend();
  EXPECT_EQ(refused.exit_code, 2);
  test::expect_one_sentence(refused.err);
  EXPECT_NE(refused.err.find("--force"), std::string::npos) << refused.err;
  EXPECT_EQ(contents_of(grown_ / "config.json"), "mine");
  EXPECT_EQ(extend({"--force"}).exit_code, 0);
  EXPECT_TRUE(fs::exists(grown_ / "model.safetensors"));
}

TEST_F(VocabExtendModel, AModelWithoutAVocabularyIsRefused) {
  fs::remove(model_ / "vocab.json");
  expect_refused("has no vocab.json");
}

TEST_F(VocabExtendModel, AModelWithoutAConfigIsRefused) {
  fs::remove(model_ / "config.json");
  expect_refused("config.json does not exist");
}

TEST_F(VocabExtendModel, AVocabularyThatIsNotTheModelsIsRefused) {
  test::RandomTensors fewer;
  --config_.gpt.text_ids;
  fewer.add(checkpoint_specs(config_));
  write_safetensors(model_ / "model.safetensors", fewer.views(), {});
  expect_refused(fmt::format("gpt.text_embedding.weight in {} is [{}, 128]",
                             (model_ / "model.safetensors").string(), config_.gpt.text_ids));
}

TEST_F(VocabExtendModel, EitherAVocabularyOrAModelIsExtended) {
  const auto both = extend({"--vocab", vocabulary()});
  EXPECT_EQ(both.exit_code, 2);
  test::expect_one_sentence(both.err);
  const auto neither = run_program({"vocab", "extend", "--language", "fa", "--text",
                                    (folder_ / "fa.txt").string(), "--out", grown_.string()});
  EXPECT_EQ(neither.exit_code, 2);
  test::expect_one_sentence(neither.err);
  EXPECT_NE(neither.err.find("--model DIR"), std::string::npos) << neither.err;
  EXPECT_FALSE(fs::exists(grown_));
}

TEST(VocabExtend, ALanguageOutsideTheEighteenIsPreparedTrainedAndSpoken) {
  test::TemporaryFolder folder;
  const auto path = [&folder](const char* name) { return (folder / name).string(); };
  test::write_tiny_model(folder / "model");
  test::write_tone_corpus(folder / "corpus", 12);
  std::ofstream table(folder / "corpus/metadata.csv");
  for (int clip = 0; clip < 12; ++clip) {
    table << fmt::format("clip{:02}|Și încă „zece” vorbe\n", clip);
  }
  table.close();
  std::ofstream(folder / "ro.txt") << "Și încă zece vorbe.\n";
  const auto run = [](const std::vector<std::string>& words) {
    const auto result = run_program(words);
    EXPECT_EQ(result.exit_code, 0) << words.front() << ": " << result.err;
    return result;
  };
  run({"vocab", "extend", "--model", path("model"), "--language", "ro", "--text", path("ro.txt"),
       "--out", path("ro")});
  const auto looked = run({"prepare", path("corpus"), "--model", path("ro"), "--language", "ro",
                           "--cache-dir", path("cache"), "--json"});
  EXPECT_EQ(nlohmann::json::parse(looked.out).at("languages").at("ro").at("clips"), 12);
  run({"train",
       "--init",
       path("ro"),
       "--train-data",
       path("corpus"),
       "--language",
       "ro",
       "--checkpoint-dir",
       path("run"),
       "--device",
       "cpu",
       "--batch-size",
       "4",
       "--max-steps",
       "2",
       "--samples",
       "0",
       "--model-threads",
       "1",
       "--data-threads",
       "1"});
  run({"synthesize", "--model", path("run/latest"), "--reference", path("corpus/wavs/clip11.wav"),
       "--language", "ro-RO", "--text", "Și zece.", "--out", path("a.wav"), "--device", "cpu",
       "--threads", "1"});
  EXPECT_GT(fs::file_size(folder / "a.wav"), 44U);

  // From nothing its tag is learnt with its letters.
  const auto learnt =
      run({"prepare", path("corpus"), "--language", "ro", "--cache-dir", path("cache"), "--json"});
  EXPECT_EQ(nlohmann::json::parse(learnt.out).at("clips"), 12);
  EXPECT_NE(learnt.err.find("ro has no cleaner of its own"), std::string::npos) << learnt.err;
  // A model that was not taught it does not take it.
  const auto refused = run_program({"prepare", path("corpus"), "--model", path("model"),
                                    "--language", "ro", "--cache-dir", path("cache")});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_NE(refused.err.find("no token [ro]"), std::string::npos) << refused.err;
}

}  // namespace
}  // namespace myxtts::vocab_test
