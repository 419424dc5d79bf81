// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <utility>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "audio/audio_file.h"
#include "e2e/training_bench.h"

namespace myxtts::test::voice_test {
namespace {

namespace fs = std::filesystem;

constexpr int kSentencesSpoken = 24;
constexpr std::int64_t kRate = 22'050;

// A person who says a few words over and over, with pauses, as a recording with subtitles; and a
// model that learnt nothing yet.
class VoiceCommand : public TrainingBench {
 protected:
  VoiceCommand() : TrainingBench(8) {
    const auto speech =
        read_audio(fs::path(std::getenv("MYXTTS_TEST_DATA")) / "golden" / "audio" / "speech.wav");
    std::vector<float> sound(kRate, 0.0F);
    std::ofstream subtitles(path("talk.srt"));
    const auto clock = [&] {
      const auto ms = static_cast<std::int64_t>(sound.size()) * 1000 / kRate;
      return fmt::format("00:{:02}:{:02},{:03}", ms / 60'000, ms / 1'000 % 60, ms % 1'000);
    };
    for (int i = 0; i < kSentencesSpoken; ++i) {
      const std::string begin = clock();
      for (int word = 0; word < 3; ++word) {
        sound.insert(sound.end(), speech.samples.begin(), speech.samples.end());
      }
      subtitles << i + 1 << "\n"
                << begin << " --> " << clock() << "\n"
                << "This is the sentence of number " << i << ".\n\n";
      sound.resize(sound.size() + 3 * kRate / 2, 0.0F);
    }
    write_wav(path("talk.wav"), sound, kRate);
  }

  void make_base() const {
    trained("base", {"--max-steps", "1", "--vocab",
                     fs::path(std::getenv("MYXTTS_TEST_DATA")) / "golden" / "text" / "vocab.json"});
  }

  Words voice(const Words& more = {}) const {
    Words words{"voice",
                path("anna"),
                path("talk.wav"),
                "--init",
                path("base"),
                "--subtitles",
                path("talk.srt"),
                "--language",
                "en",
                "--device",
                "cpu",
                "--epochs",
                "1"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
};

TEST_F(VoiceCommand, MakesClipsTrainsSpeaksShowsItAndIsDoneTheSecondTime) {
  make_base();
  const auto planned = run_program(voice({"--dry-run"}));
  ASSERT_EQ(planned.exit_code, 0) << planned.err;
  for (const char* words : {"by a guess", "clips: about", "myxtts clips ", "check: about",
                            "train, ", "steps: about", "--epochs 1 ", "voice.html"}) {
    EXPECT_TRUE(has(planned.out, words)) << words << "\n" << planned.out;
  }
  EXPECT_FALSE(fs::exists(path("anna"))) << "a dry run makes nothing";

  const auto made = run_program(voice());
  ASSERT_EQ(made.exit_code, 0) << made.out << made.err;
  for (const char* words : {"$ myxtts clips ", "$ myxtts prepare ", "$ myxtts train --init ",
                            "$ myxtts synthesize ", "To speak, type:"}) {
    EXPECT_TRUE(has(made.out, words)) << words << "\n" << made.out;
  }
  int spoken = 0;
  for (const auto& entry : fs::directory_iterator(path("anna") / "spoken")) {
    if (entry.path().extension() != ".wav") continue;
    ++spoken;
    EXPECT_GT(read_audio(entry.path()).frames(), 0);
    EXPECT_TRUE(fs::exists(path("anna") / "corpus/wavs" / entry.path().filename()))
        << "it has a recording to compare with";
  }
  EXPECT_EQ(spoken, 3);
  const std::string page = contents_of(path("anna") / "voice.html");
  for (const char* words : {"corpus/clips.html", "corpus.html", "run/report.html", "spoken/",
                            "This is the sentence of number", "--voice"}) {
    EXPECT_TRUE(has(page, words)) << words;
  }
  for (const char* file : {"corpus/clips.html", "corpus.html", "run/report.html"}) {
    EXPECT_TRUE(fs::exists(path("anna") / file)) << "a link of the page leads nowhere: " << file;
  }

  const auto again = run_program(voice());
  EXPECT_EQ(again.exit_code, 0) << again.err;
  for (const char* words :
       {"looking the corpus over: done before", "training: done before", "speaking: done before"}) {
    EXPECT_TRUE(has(again.err, words)) << words << "\n" << again.err;
  }
  EXPECT_FALSE(has(again.out, "$ myxtts train")) << again.out;

  // A correction is applied, and what was trained before it says so.
  const std::string name = fs::directory_iterator(path("anna") / "corpus/wavs")->path().stem();
  std::ofstream(path("anna") / "corpus/corrections.json")
      << R"({"format": "myxtts-corrections", "version": 1, "clips": [{"clip": ")" << name
      << R"(", "text": "Another sentence."}]})";
  const auto corrected = run_program(voice());
  EXPECT_EQ(corrected.exit_code, 0) << corrected.err;
  EXPECT_TRUE(has(contents_of(path("anna") / "corpus/metadata.csv"), name + "|Another sentence."));
  EXPECT_TRUE(has(corrected.err, "the corpus changed since training began")) << corrected.err;
  EXPECT_FALSE(has(again.err, "the corpus changed since training began")) << again.err;

  fs::remove(path("anna") / "voice.safetensors");
  const auto spoke = run_program(voice());
  EXPECT_EQ(spoke.exit_code, 0) << spoke.err;
  EXPECT_TRUE(has(spoke.out, "$ myxtts synthesize")) << "what is missing is made again";
  EXPECT_TRUE(fs::exists(path("anna") / "voice.safetensors"));
}

TEST_F(VoiceCommand, WhatWasBegunWithSomethingElseIsRefused) {
  make_base();
  fs::create_directories(path("anna") / "corpus");
  std::ofstream(path("anna") / "corpus" / "metadata.csv") << "a|b|b\n";
  std::ofstream(path("anna") / "voice.json")
      << R"({"order": {"RECORDING": ["other.wav"], "--init": "", "--language": "en"}})";
  const auto other = run_program(voice());
  EXPECT_EQ(other.exit_code, 2);
  EXPECT_TRUE(has(other.err, "was begun with another ")) << other.err;
  std::ofstream(path("anna") / "voice.json") << "{";
  const auto damaged = run_program(voice());
  EXPECT_EQ(damaged.exit_code, 3);
  EXPECT_TRUE(has(damaged.err, "is damaged. Remove it")) << damaged.err;
}

TEST_F(VoiceCommand, AStepThatFailsEndsItAndIsNamed) {
  make_base();
  std::ofstream(path("talk.srt")) << "no subtitles at all\n";
  const auto failed = run_program(voice());
  EXPECT_EQ(failed.exit_code, 3) << failed.out << failed.err;
  EXPECT_TRUE(has(failed.err, "cutting clips failed; once its reason above is put right"))
      << failed.err;
  EXPECT_FALSE(has(failed.out, "$ myxtts train"));
  EXPECT_TRUE(has(failed.err, "base cannot speak") || has(failed.err, "never trained"))
      << failed.err;

  // Nothing was made yet, so that the name is free for another recording.
  fs::copy_file(path("talk.wav"), path("other.wav"));
  Words corrected = voice();
  corrected[2] = path("other.wav");
  const auto other = run_program(corrected);
  EXPECT_EQ(other.exit_code, 3) << "the subtitles are as they were";
  EXPECT_FALSE(has(other.err, "was begun with another")) << other.err;
}

TEST_F(VoiceCommand, WhatIsNotThereIsSaidBeforeAnythingIsMadeOrPlanned) {
  make_base();
  for (const Words& more :
       {Words{"--whisper", path("nowhere"), "--dry-run"}, Words{"--text", path("nowhere")}}) {
    const auto result = run_program(voice(more));
    EXPECT_EQ(result.exit_code, 3);
    EXPECT_TRUE(has(result.err, more[0] + " " + path("nowhere").string() + " is not there"))
        << result.err;
  }
  for (const auto& [language, words] : {std::pair{"eng", "did you mean en?"},
                                        std::pair{"ro", "The vocabulary has no token [ro]"}}) {
    Words order = voice({"--dry-run"});
    *std::ranges::find(order, "en") = language;
    const auto result = run_program(order);
    EXPECT_EQ(result.exit_code, 2) << result.out;
    EXPECT_TRUE(has(result.err, words)) << result.err;
  }
  EXPECT_FALSE(fs::exists(path("anna")));
}

TEST(Voice, NeedsSomebodyToWriteDownWhatIsSaid) {
  const auto result = run_program({"voice", "x", "a.wav", "--init", "nowhere", "--language", "en"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_TRUE(has(result.err, "Give --whisper DIR, a Whisper model")) << result.err;
}

}  // namespace
}  // namespace myxtts::test::voice_test
