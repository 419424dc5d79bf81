// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>

#include <ATen/ATen.h>

#include "e2e/training_bench.h"
#include "run/open_model.h"
#include "support/corpus_maker.h"

namespace myxtts::test::train_stages_test {
namespace {

namespace fs = std::filesystem;

// Twelve clips, and what each stage of a small model is trained with.
class TrainStages : public TrainingBench {
 protected:
  TrainStages() : TrainingBench(12) {}

  static Words stage(const std::string& name, const Words& more = {}) {
    Words words{"--stage", name, "--windows-per-clip", "1", "--max-steps", "4"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }

  void expect_resumed_alike(const std::string& name, const Words& more, const Words& files) {
    trained(name + "-whole", stage(name, more));
    Words half = stage(name, more);
    *(std::ranges::find(half, "--max-steps") + 1) = "2";
    trained(name + "-halves", half);
    Words rest = stage(name, more);
    rest.emplace_back("--resume");
    trained(name + "-halves", rest);
    for (const std::string& file : files) {
      EXPECT_TRUE(latest(name + "-halves", file) == latest(name + "-whole", file)) << file;
    }
    EXPECT_EQ(curve(name + "-halves", "loss"), curve(name + "-whole", "loss"));
  }

  // The newest checkpoint of a run opens as a model.
  OpenModel model_of(const std::string& run) const { return open_model(path(run) / "latest"); }
};

TEST_F(TrainStages, TheDvaeIsTrainedFromNothingAndOnItsResultTheDecoder) {
  expect_resumed_alike("dvae", {},
                       {"dvae.safetensors", "model.safetensors", "optimiser.safetensors"});
  const OpenModel dvae = model_of("dvae-whole");
  EXPECT_GT(dvae.model.at("mel_stats").sub(1).abs().max().item<float>(), 0.01F)
      << "they are those of the corpus";

  // The discriminators take part from the second of three steps on, before and behind the stop.
  const Words init{"--init", path("dvae-whole") / "latest", "--mel-only-steps", "1"};
  expect_resumed_alike("decoder", init,
                       {"dvae.safetensors", "model.safetensors", "optimiser.safetensors"});
  const auto judged = curve("decoder-whole", "discriminator_loss");
  EXPECT_EQ(judged.front(), 0);
  EXPECT_GT(judged[1], 0);
  const OpenModel decoder = model_of("decoder-whole");
  const std::string trained = "hifigan_decoder.waveform_decoder.conv_pre.weight";
  EXPECT_FALSE(at::equal(decoder.model.at(trained), dvae.model.at(trained)));
  for (const std::string frozen :
       {"gpt.final_norm.weight", "mel_stats", "hifigan_decoder.speaker_encoder.fc.weight"}) {
    EXPECT_TRUE(at::equal(decoder.model.at(frozen), dvae.model.at(frozen))) << frozen;
  }
  EXPECT_EQ(latest("decoder-whole", "dvae.safetensors"), latest("dvae-whole", "dvae.safetensors"));

  const auto other = train("dvae-whole", stage("decoder", {"--quiet", "--resume"}));
  EXPECT_EQ(other.exit_code, 2) << other.err;
  EXPECT_TRUE(has(other.err, "trains the part dvae, and --stage is decoder")) << other.err;
}

TEST_F(TrainStages, SpeakersAreMeasuredThatWereNotTrainedAndOthersAreRefusedOnResume) {
  auto clips = made_clips(12);
  for (std::size_t i = 0; i < clips.size(); ++i) clips[i].speaker = "p" + std::to_string(i % 4);
  const std::string corpus = make_corpus(path("voices"), CorpusLayout::CoquiCsv, clips).string();
  for (auto& clip : clips) clip.speaker = clip.speaker == "p0" ? "anna" : clip.speaker;
  for (auto& clip : clips) clip.speaker = clip.speaker == "p1" ? "bert" : clip.speaker;
  const std::string other = make_corpus(path("others"), CorpusLayout::CoquiCsv, clips).string();
  const auto words = [](const std::string& data, const Words& more) {
    Words all{"--stage", "speaker", "--train-data", data, "--val-fraction", "0.01"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  };
  trained("run", words(corpus, {"--max-steps", "2"}));
  const auto names = nlohmann::json::parse(latest("run", "trained_speakers.json"));
  EXPECT_EQ(names.size(), 3U) << names << ": one of four is held back";
  EXPECT_EQ(metrics("run", "validation").back().at("clips"), 3);

  const auto refused = train("run", words(other, {"--quiet", "--max-steps", "4", "--resume"}));
  EXPECT_EQ(refused.exit_code, 3) << refused.err;
  EXPECT_TRUE(has(refused.err, "; new: ") && has(refused.err, "; missing: p")) << refused.err;
  EXPECT_TRUE(has(refused.err, "--stage speaker --init")) << refused.err;
  trained("run", words(corpus, {"--max-steps", "3", "--resume"}));
}

TEST_F(TrainStages, WhatAStageCannotHaveIsRefused) {
  const std::vector<std::pair<Words, std::string>> refusals = {
      {{"--stage", "dvae", "--cache-dataset"}, "leave --cache-dataset out"},
      {{"--stage", "dvae", "--recompute", "on"}, "the part gpt alone"},
      {{"--stage", "gpt", "--window", "1"}, "leave the windows out"},
      {{"--stage", "decoder", "--freeze", "gpt.*"}, "--freeze"},
      {{"--stage", "speaker"}, "one speaker"}};
  for (const auto& [flags, words] : refusals) {
    Words all = flags;
    all.emplace_back("--quiet");
    const auto result = train("refused", all);
    EXPECT_EQ(result.exit_code, 2) << words << "\n" << result.err;
    EXPECT_TRUE(has(result.err, words)) << result.err;
  }
}

}  // namespace
}  // namespace myxtts::test::train_stages_test
