// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "audio/mel_spectrogram.h"
#include "audio/resample.h"
#include "data/cache/feature_cache.h"
#include "data/corpus.h"
#include "model/dvae.h"
#include "pipeline/feature_writer.h"
#include "support/program.h"
#include "support/temporary_folder.h"
#include "support/tone_corpus.h"

namespace myxtts::test::prepare_test {
namespace {

using Json = nlohmann::json;
namespace fs = std::filesystem;

class Prepare : public testing::Test {
 protected:
  Prepare() : model_(write_tiny_model(folder_ / "model")) {
    write_tone_corpus(folder_ / "corpus", 24);
  }

  ProgramResult prepare(std::vector<std::string> more) const {
    std::vector<std::string> arguments = {"prepare",     (folder_ / "corpus").string(),
                                          "--device",    "cpu",
                                          "--cache-dir", (folder_ / "cache").string(),
                                          "--report",    (folder_ / "report.html").string()};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_program(arguments);
  }
  std::string model() const { return (folder_ / "model").string(); }

  TemporaryFolder folder_;
  TinyModel model_;
};

TEST_F(Prepare, TellsWhatACorpusHolds) {
  const auto result = prepare({"--model", model(), "--json", "--batch-size", "4"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const auto json = Json::parse(result.out);
  EXPECT_EQ(json.at("clips"), 24);
  EXPECT_NEAR(json.at("hours").get<double>(), 24 * 1.315 / 3600.0, 1e-4);
  EXPECT_EQ(json.at("sample_rates").at("22050").at("clips"), 24);
  EXPECT_EQ(json.at("skipped"), 0);
  EXPECT_EQ(json.at("steps_per_epoch"), 6);
  EXPECT_GT(json.at("useful_share").get<double>(), 0.5);
  EXPECT_TRUE(json.at("suspicious").empty());
}

TEST_F(Prepare, NamesWrongTextsAndSoundThatOnlyDecodingShowsToBeBad) {
  write_tone(folder_ / "corpus/wavs/swapped.wav", 500.0, 5.0);
  add_line(folder_ / "corpus", "swapped", "seventeen letters here");  // four a second
  write_tone(folder_ / "corpus/wavs/silent.wav", 500.0, 1.3, 0.0);
  add_line(folder_ / "corpus", "silent", "sixteen letters or so");
  const auto result = prepare({"--model", model(), "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const auto json = Json::parse(result.out);
  EXPECT_EQ(json.at("clips"), 25);
  EXPECT_EQ(json.at("skipped_by_reason").at("silent"), 1);
  ASSERT_EQ(json.at("suspicious").size(), 1U);
  EXPECT_NE(json.at("suspicious")[0].at("file").get<std::string>().find("swapped.wav"),
            std::string::npos);
}

TEST_F(Prepare, WritesAPageThatShowsHostileNamesAsTexts) {
  const auto hostile = folder_ / "<script>alert(1)";  // its name is the page's title
  write_tone_corpus(hostile, 3);
  ASSERT_EQ(prepare({"--model", model(), hostile.string()}).exit_code, 0);
  const auto page = contents_of(folder_ / "report.html");
  EXPECT_NE(page.find("<svg"), std::string::npos);
  EXPECT_EQ(page.find("<script"), std::string::npos);
  EXPECT_NE(page.find("&lt;script&gt;"), std::string::npos);
}

TEST_F(Prepare, FillsTheCacheWithTheCodesOfTheModelAndOnlyOnce) {
  const auto result = prepare({"--model", model(), "--codes"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE(result.err.find("are free"), std::string::npos) << result.err;
  const auto key = model_key(model_.dvae, model_.model.at("mel_stats"));
  std::uint64_t bytes = 0;
  {
    const FeatureCache cache(folder_ / "cache", key);
    EXPECT_EQ(cache.size(), 24U);
    bytes = cache.bytes();
    DataConfig config;
    config.train_data.push_back({.path = folder_ / "corpus"});
    const auto vocabulary = Vocabulary::load(folder_ / "model/vocab.json");
    config.cache_dir = folder_ / "cache";
    const auto corpus = Corpus::open(config, vocabulary, folder_ / "cache");
    const auto clip = corpus.clip(5);
    const auto found = cache.find(clip.identity);
    ASSERT_TRUE(found);

    const auto wave = read_clip(std::string(clip.audio), 22050);
    const MelSpectrogram mel(dvae_mel_config(), at::kCPU);
    const Dvae dvae(model_.config.dvae, model_.dvae);
    const auto codes = dvae.quantise(dvae.encode(normalised_log_mel(mel(wave.unsqueeze(0)),
                                                                    model_.model.at("mel_stats"))))
                           .squeeze(0);
    ASSERT_EQ(static_cast<std::int64_t>(found->samples.size()), wave.size(0));
    ASSERT_EQ(static_cast<std::int64_t>(found->codes.size()), (wave.size(0) + 1023) / 1024);
    for (std::size_t i = 0; i < found->codes.size(); ++i) {
      EXPECT_EQ(found->codes[i], codes[static_cast<std::int64_t>(i)].item<std::int64_t>());
    }
    for (std::size_t i = 0; i < found->samples.size(); i += 1000) {
      EXPECT_EQ(found->samples[i],
                std::lround(wave[static_cast<std::int64_t>(i)].item<double>() * 32768.0));
    }
  }
  ASSERT_EQ(prepare({"--model", model(), "--codes"}).exit_code, 0);
  EXPECT_EQ(FeatureCache(folder_ / "cache", key).bytes(), bytes);
}

TEST_F(Prepare, WithoutAModelTokensAreThoseOfALearntVocabulary) {
  const auto learnt = prepare({});
  EXPECT_EQ(learnt.exit_code, 0) << learnt.err;
  EXPECT_NE(learnt.err.find("vocabulary learnt from these texts"), std::string::npos) << learnt.err;
}

TEST_F(Prepare, SaysWhatItNeeds) {
  const auto vocabulary = (folder_ / "model/vocab.json").string();
  EXPECT_EQ(prepare({"--vocab", vocabulary, "--codes"}).exit_code, 2);
  EXPECT_EQ(prepare({"--vocab", vocabulary}).exit_code, 0);
}

}  // namespace
}  // namespace myxtts::test::prepare_test
