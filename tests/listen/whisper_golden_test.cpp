// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <ATen/ATen.h>
#include <fmt/ranges.h>

#include "listen/tiny_whisper.h"
#include "listen/transcriber.h"
#include "listen/whisper.h"
#include "support/golden.h"

namespace myxtts::test::whisper_golden_test {
namespace {

const GoldenTensors& golden() {
  static const GoldenTensors tensors = read_golden("whisper/outputs.safetensors");
  return tensors;
}

const WhisperFiles& files() {
  static const WhisperFiles opened = open_whisper(tiny_whisper());
  return opened;
}

at::Tensor mels() {
  return WhisperMel(80, at::kCPU)(at::stack(tiny_clips()));
}

TEST(WhisperGolden, MelSpectrogramsOfBothSizesAreThoseOfTheReference) {
  const auto rows = mels().narrow(0, 0, 3).slice(2, 0, std::nullopt, 4);
  EXPECT_LT(max_abs_difference(rows, golden().at("mel")), 2e-5);
  const auto wide = WhisperMel(128, at::kCPU)(tiny_clips()[0].unsqueeze(0))[0];
  EXPECT_LT(max_abs_difference(wide.slice(1, 0, std::nullopt, 4), golden().at("mel_128")), 2e-5);
}

TEST(WhisperGolden, EncoderAndScoresAreThoseOfTheReference) {
  const Whisper network(files().sizes, files().tensors, at::kCPU);
  const auto encoded = network.encode(mels().narrow(0, 0, 3));
  EXPECT_LT(relative_error(encoded, golden().at("encoded")), 1e-4);
  const WhisperVocabulary& words = files().vocabulary;
  const auto prompt =
      at::tensor({words.start, words.language("de"), words.transcribe, words.no_times}, at::kLong)
          .unsqueeze(0);
  auto reading = network.begin(encoded.narrow(0, 0, 1));
  const auto scores = network.scores(network.read(reading, prompt));
  EXPECT_LT(relative_error(scores, golden().at("scores")), 1e-4);
}

TEST(WhisperGolden, TokensReadOneByOneGiveTheScoresOfAllAtOnce) {
  const Whisper network(files().sizes, files().tensors, at::kCPU);
  const auto encoded = network.encode(mels().narrow(0, 0, 2));
  const auto tokens = at::arange(24, at::kLong).view({2, 12});
  auto whole = network.begin(encoded);
  const auto expected = network.read(whole, tokens);
  auto reading = network.begin(encoded);
  std::vector<at::Tensor> states{network.read(reading, tokens.narrow(1, 0, 5))};
  states.push_back(network.read(reading, tokens.narrow(1, 5, 3)));
  for (int i = 8; i < 12; ++i) states.push_back(network.read(reading, tokens.narrow(1, i, 1)));
  EXPECT_LT(relative_error(at::cat(states, 1), expected), 1e-5);
}

TEST(WhisperGolden, AttentionToTheSoundIsAsSeenByEachTokenOnItsOwn) {
  const Whisper network(files().sizes, files().tensors, at::kCPU);
  auto reading = network.begin(network.encode(mels().narrow(0, 0, 1)));
  Whisper::Attention attention{.heads = {{0, 1}, {1, 0}, {1, 1}}};
  network.read(reading, at::arange(3, at::kLong).unsqueeze(0), &attention);
  ASSERT_EQ(attention.weights.size(), 2U) << "one tensor for each layer";
  const std::vector<std::int64_t> shape{1, 2, 3, files().sizes.audio_context};
  EXPECT_EQ(attention.weights[0].size(1), 1);
  EXPECT_EQ(attention.weights[1].sizes().vec(), shape);
  EXPECT_LT(max_abs_difference(attention.weights[1].sum(-1), at::ones({1, 2, 3})), 1e-5);
}

// Language, tokens and probabilities of all clips in one batch.
void expect_golden(const std::vector<Transcript>& found, const std::string& mode) {
  const auto& tokens = golden().at(mode + ".tokens");
  for (std::size_t i = 0; i < found.size(); ++i) {
    const auto row = static_cast<std::int64_t>(i);
    std::vector<std::int64_t> expected;
    for (std::int64_t place = 0; place < tokens.size(1); ++place) {
      const auto token = tokens[row][place].item<std::int64_t>();
      if (token >= 0) expected.push_back(token);
    }
    EXPECT_EQ(found[i].tokens, expected) << mode << " of clip " << i;
    EXPECT_EQ(files().vocabulary.language(found[i].language),
              golden().at(mode + ".language")[row].item<std::int64_t>());
    EXPECT_NEAR(found[i].log_probability,
                golden().at(mode + ".log_probability")[row].item<double>(), 1e-4);
    EXPECT_NEAR(found[i].no_speech, golden().at(mode + ".no_speech")[row].item<double>(), 1e-5);
  }
}

TEST(WhisperGolden, TranscriptsAreThoseOfTheReference) {
  const Transcriber transcriber(files(), at::kCPU);
  expect_golden(transcriber(tiny_clips(), {}), "plain");
  expect_golden(transcriber(tiny_clips(), {.batch = 4}), "plain");
  expect_golden(transcriber(tiny_clips(), {.times = true}), "times");
}

TEST(WhisperGolden, WordsOfGivenTextsAreHeardWhereTheReferenceHearsThem) {
  struct Given {
    std::size_t clip;
    std::int64_t samples;
    const char* language;
    std::vector<std::string> words;
  };
  const Given all[] = {{3, 32000, "en", {" the", " thing,", " and", " on"}},
                       {2, 32000, "en", {" re", "-do", " it,", " 42", " the"}},
                       {1, 24000, "zh", {"那", "个", "东", "西", "和", " the"}},
                       {1, 32000, "en", {" and,", " then", " on."}}};
  const Transcriber transcriber(files(), at::kCPU);
  for (std::size_t i = 0; i < std::size(all); ++i) {
    const at::Tensor clip = tiny_clips()[all[i].clip].narrow(0, 0, all[i].samples);
    // Beside another one, as in a batch.
    const auto found = transcriber.lay({clip, tiny_clips()[0]},
                                       {fmt::format("{}", fmt::join(all[i].words, "")), "the"},
                                       {.language = all[i].language})[0];
    const auto& expected = golden().at(fmt::format("aligned.{}", i));
    ASSERT_EQ(found.words.size(), all[i].words.size());
    for (std::size_t word = 0; word < found.words.size(); ++word) {
      const auto row = expected[static_cast<std::int64_t>(word)];
      EXPECT_EQ(found.words[word].text, all[i].words[word]);
      EXPECT_NEAR(found.words[word].begin, row[0].item<double>(), 1e-6) << i << all[i].words[word];
      EXPECT_NEAR(found.words[word].end, row[1].item<double>(), 1e-6) << i << all[i].words[word];
      EXPECT_NEAR(found.words[word].probability / row[2].item<double>(), 1.0, 1e-3);
    }
  }
}

TEST(WhisperGolden, TheVocabularyDividesTextsAsTheReferenceDoes) {
  const char* const texts[] = {"the thing and the other", " -- ((on)) it's 42!", "naïve ♪♪ وقت"};
  for (std::size_t i = 0; i < std::size(texts); ++i) {
    const auto& expected = golden().at(fmt::format("text.{}", i));
    const auto found = files().vocabulary.encode(texts[i]);
    EXPECT_TRUE(at::tensor(found, at::kLong).equal(expected)) << texts[i];
    EXPECT_EQ(files().vocabulary.text_of(found), texts[i]);
  }
}

TEST(WhisperGolden, WhatIsNeverSaidIsWhatTheReferenceSuppresses) {
  EXPECT_TRUE(
      at::tensor(files().vocabulary.never_said(), at::kLong).equal(golden().at("never_said")));
}

}  // namespace
}  // namespace myxtts::test::whisper_golden_test
