// SPDX-License-Identifier: Apache-2.0
#include "clips/heard_words.h"

#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include <ATen/ATen.h>

#include "audio/audio_file.h"
#include "listen/tiny_whisper.h"
#include "support/temporary_folder.h"

namespace myxtts::test::heard_words_test {
namespace {

SoundCourse talk(std::initializer_list<std::pair<double, double>> talks, double seconds) {
  SoundCourse course;
  course.level.assign(static_cast<std::size_t>(seconds * 100), -80.0F);
  course.speech.assign(static_cast<std::size_t>(seconds / kSpeechStep) + 1, 0.01F);
  for (const auto& [begin, end] : talks) {
    for (double at = begin; at < end; at += 0.01) {
      course.level[static_cast<std::size_t>(at * 100)] = -20.0F;
      course.speech[static_cast<std::size_t>(at / kSpeechStep)] = 0.97F;
    }
  }
  return course;
}

TEST(StretchesToHear, HoldAllSpeechAndAreAsLongAsTheRecogniserHears) {
  const auto stretches =
      stretches_to_hear(talk({{1, 12}, {12.5, 20}, {20.8, 27.5}, {40, 110}, {111, 112}}, 115));
  ASSERT_GE(stretches.size(), 4U);
  for (const auto& [begin, end] : stretches) EXPECT_LE(end - begin, 28.0);
  EXPECT_NEAR(stretches[0].begin, 0.7, 0.05);
  EXPECT_NEAR(stretches[0].end, 27.8, 0.35);
  EXPECT_NEAR(stretches.back().end, 112.3, 0.05);
}

std::string read(const std::filesystem::path& file) {
  std::ifstream stream(file);
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

class WordKeeperTest : public testing::Test {
 protected:
  WordKeeperTest() : recording_(wav(), folder_.path()) {}

  std::filesystem::path wav() {
    const auto sound = at::cat(tiny_clips()).contiguous();
    write_wav(folder_ / "a.wav",
              {sound.const_data_ptr<float>(), static_cast<std::size_t>(sound.numel())}, 16'000);
    return folder_ / "a.wav";
  }
  std::filesystem::path file() const { return folder_ / "words.jsonl"; }

  int heard(WordKeeper& keeper) {
    static const Transcriber transcriber(open_whisper(tiny_whisper()), at::kCPU);
    int calls = 0;
    keeper.hear(recording_, stretches_, transcriber, {.language = "en", .words = true, .batch = 2},
                [&](double) { ++calls; });
    return calls;
  }

  TemporaryFolder folder_;
  Recording recording_;
  std::vector<Stretch> stretches_{{0, 2}, {2, 4}, {4, 6}, {6.5, 8}};
};

TEST_F(WordKeeperTest, AnInterruptedRunIsGoneOnWith) {
  WordKeeper whole(file(), "key");
  EXPECT_FALSE(whole.is_complete());
  EXPECT_EQ(heard(whole), 4);
  EXPECT_TRUE(whole.is_complete());
  const auto words = whole.words();
  EXPECT_EQ(words.language, "en");
  ASSERT_FALSE(words.words.empty());
  for (std::size_t i = 1; i < words.words.size(); ++i) {
    EXPECT_GE(words.words[i].begin, words.words[i - 1].begin - 2.0);
  }
  EXPECT_GT(words.words.back().end, 6.5) << "seconds of the recording, not of the stretch";

  const WordKeeper again(file(), "key");
  EXPECT_TRUE(again.is_complete());
  EXPECT_EQ(again.words().words.size(), words.words.size());

  // Killed while it wrote, at each line.
  const auto text = read(file());
  for (std::size_t cut = text.find('\n') + 1; cut < text.size(); cut = text.find('\n', cut) + 1) {
    std::ofstream(file()) << text.substr(0, cut + 10);
    WordKeeper rest(file(), "key");
    EXPECT_FALSE(rest.is_complete());
    EXPECT_EQ(read(file()).size(), cut) << "what was cut off is gone";
    EXPECT_EQ(heard(rest), 4);
    EXPECT_EQ(read(file()), text) << "the same, to the last digit";
  }
}

TEST_F(WordKeeperTest, WordsOfSomethingElseAreHeardAnew) {
  WordKeeper first(file(), "key");
  heard(first);
  const WordKeeper other(file(), "another");
  EXPECT_FALSE(other.is_complete());
  EXPECT_TRUE(other.words().words.empty());
}

}  // namespace
}  // namespace myxtts::test::heard_words_test
