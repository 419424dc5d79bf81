// SPDX-License-Identifier: Apache-2.0
// Pauses, SSML and a lexicon, as the program is given them.
#include <filesystem>
#include <fstream>
#include <string>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "audio/audio_file.h"
#include "e2e/speaking_bench.h"
#include "weights/tensor_files.h"

namespace myxtts::test::speech_marks_test {
namespace {

class SpeechMarks : public SpeakingBench {};

TEST_F(SpeechMarks, PausesAreSilenceOfTheirLengthWhereTheyStand) {
  const std::string text = "[pause 250ms]Hello.[pause 1s]There.[pause 100ms]";
  ASSERT_EQ(say(text, {"--dump", file("d")}).exit_code, 0);
  const auto sound = read_audio(file("a.wav"));
  const auto pieces = read_tensors(file("d")).at("pieces");  // [2, 4]
  ASSERT_EQ(pieces.size(0), 2);
  const std::int64_t before = 6000;
  const std::int64_t between = before + pieces[0][3].item<std::int64_t>();
  const std::int64_t after = between + 24000 + pieces[1][3].item<std::int64_t>();
  ASSERT_EQ(sound.frames(), after + 2400);
  const auto samples = at::tensor(sound.samples);
  EXPECT_EQ(samples.slice(0, 0, before).abs().max().item<float>(), 0.0F);
  EXPECT_EQ(samples.slice(0, between, between + 24000).abs().max().item<float>(), 0.0F);
  EXPECT_EQ(samples.slice(0, after).abs().max().item<float>(), 0.0F);
  EXPECT_GT(samples.slice(0, before, between).abs().max().item<float>(), 0.0F);
  ASSERT_EQ(say(text, {"--stream", "--dump", file("s")}).exit_code, 0);
  EXPECT_EQ(read_audio(file("a.wav")).frames(), sound.frames()) << "a stream has them too";
}

// The voice of a document's part, its speed, and what is said in place of a word.
TEST_F(SpeechMarks, ADocumentInSsmlIsOneTextThatIsSpokenAsItAsks) {
  write_tone("other.wav", 90.0, 2.0);
  ASSERT_EQ(
      speak({"--reference", file("other.wav"), "--save-voice", file("other.voice")}).exit_code, 0);
  std::ofstream(file("talk.ssml"))
      << "\xEF\xBB\xBF<?xml version='1.0'?>\n<speak>\n <s>SQL.</s>\n <voice name='"
      << file("other.voice") << "'><prosody rate='fast'>Hello.</prosody></voice>\n</speak>\n";
  std::ofstream(file("words.tsv")) << "# how\nSQL\tsequel\n";
  const auto result =
      speak({"--reference", file("me.wav"), "--language", "en", "--text-file", file("talk.ssml"),
             "--lexicon", file("words.tsv"), "--out", file("talk.wav"), "--dump", file("d")});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const auto talk = read_tensors(file("d"));
  ASSERT_EQ(talk.at("pieces").size(0), 2);
  EXPECT_EQ(talk.at("pieces")[1][2].item<std::int64_t>(), 48) << "60 codes at 1.25 of the speed";

  ASSERT_EQ(say("sequel.", {"--dump", file("plain")}).exit_code, 0);
  const auto plain = read_tensors(file("plain"));
  const auto words = plain.at("text_ids").size(0);
  EXPECT_TRUE(talk.at("text_ids").slice(0, 0, words).equal(plain.at("text_ids")));
  EXPECT_TRUE(talk.at("codes").slice(0, 0, 60).equal(plain.at("codes"))) << "in its own voice";

  // The second piece of a text, as the number of a piece is part of its draws.
  ASSERT_EQ(speak({"--voice", file("other.voice"), "--language", "en", "--text",
                   "<speak><s>Sequel.</s><prosody rate='fast'>Hello.</prosody></speak>", "--out",
                   file("a.wav"), "--dump", file("alone")})
                .exit_code,
            0);
  EXPECT_TRUE(
      talk.at("codes").slice(0, 60).equal(read_tensors(file("alone")).at("codes").slice(0, 60)))
      << "in the voice that it names";
}

}  // namespace
}  // namespace myxtts::test::speech_marks_test
