// SPDX-License-Identifier: Apache-2.0
#include "clips/corpus_folder.h"

#include <fstream>
#include <sstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "support/temporary_folder.h"

namespace myxtts::test::corpus_folder_test {
namespace {

namespace fs = std::filesystem;

std::string read(const fs::path& file) {
  std::ifstream stream(file);
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

MadeClip clip_of(const std::string& name, double begin, const std::string& text,
                 std::int64_t voice = 0) {
  return {.name = name,
          .begin = begin,
          .end = begin + 4,
          .text = {.source = TextSource::Transcription,
                   .text = text,
                   .heard = text,
                   .confidence = 0.99},
          .sound = {.level = -20, .snr = 40, .clipped = 0, .speech = 0.97},
          .voice = voice};
}

RecordingClips recording(const std::string& name) {
  return {.recording = name,
          .file = "/recordings/" + name + ".mp3",
          .made_from = "this and that",
          .seconds = 100,
          .speech_seconds = 60,
          .clips = {clip_of(name + "-1", 1, "One | two"), clip_of(name + "-2", 9, "Three", 1)},
          .left_out = {{5, 8, {"music", "Music without speech for 3.0 s."}, ""}},
          .voices = {{{1, 0}, 50}, {{0, 1}, 10}}};
}

// The folder of a corpus with the sounds of these clips.
class CorpusFolderTest : public testing::Test {
 protected:
  CorpusFolder::Summary published(const std::vector<RecordingClips>& recordings,
                                  SpeakerRule rule = {.several = true}) {
    for (const auto& made : recordings) {
      for (const auto& clip : made.clips) std::ofstream(corpus_.wav(clip.name)) << "sound";
    }
    return corpus_.publish({.title = "corpus", .recordings = recordings}, rule);
  }
  std::string file(const char* name) const { return read(corpus_.path() / name); }

  TemporaryFolder folder_;
  CorpusFolder corpus_{folder_ / "corpus"};
};

TEST_F(CorpusFolderTest, IsWrittenAsLjSpeechIs) {
  const auto summary = published({recording("a")});
  EXPECT_EQ(summary.clips, 2);
  EXPECT_EQ(summary.seconds, 8);
  EXPECT_EQ(file("metadata.csv"), "a-1|One , two|One , two\na-2|Three|Three\n")
      << "a bar would be a column";
  EXPECT_EQ(file("speakers.csv"), "a-1|speaker1\na-2|speaker2\n");
  const auto json = nlohmann::json::parse(file("clips.json"));
  EXPECT_EQ(json["recordings"][0]["left_out"][0]["reason"], "music");
  EXPECT_EQ(json["recordings"][0]["clips"][1]["speaker"], "speaker2");
  EXPECT_NE(file("clips.html").find("a-2"), std::string::npos);
}

TEST_F(CorpusFolderTest, OfOneSpeakerOthersAreLeftOut) {
  auto other = recording("b");
  std::swap(other.voices[0].vector, other.voices[1].vector);
  other.voices[0].seconds = 30;
  const auto summary = published({recording("a"), other}, {.several = false});
  EXPECT_EQ(file("metadata.csv"), "a-1|One , two|One , two\nb-2|Three|Three\n")
      << "the voice that speaks most is the second of the other recording";
  EXPECT_FALSE(fs::exists(corpus_.path() / "speakers.csv"));
  EXPECT_EQ(summary.left_out.front().first, "other-voice");
  EXPECT_TRUE(fs::exists(corpus_.wav("b-1"))) << "another --likeness may want it";
}

TEST_F(CorpusFolderTest, WithoutVoicesAllIsOfOne) {
  auto made = recording("a");
  made.voices.clear();
  EXPECT_EQ(published({made}, {.several = false}).clips, 2);
  EXPECT_FALSE(fs::exists(corpus_.path() / "speakers.csv"));
}

TEST_F(CorpusFolderTest, CorrectionsAreObeyed) {
  std::ofstream(corpus_.path() / "corrections.json")
      << R"({"format": "myxtts-corrections", "version": 1, "clips": [
          {"clip": "a-1", "was": "One | two", "text": "One to"},
          {"clip": "a-2", "accepted": false}]})";
  const auto summary = published({recording("a")});
  EXPECT_EQ(summary.corrected, 1);
  EXPECT_EQ(summary.rejected, 1);
  EXPECT_EQ(file("metadata.csv"), "a-1|One to|One to\n");
  EXPECT_TRUE(fs::exists(corpus_.wav("a-2"))) << "it may be accepted again";
}

TEST_F(CorpusFolderTest, WhatWasCorrectedOnceStaysWhenTheNextFileComes) {
  const auto correct = [](const std::filesystem::path& file, const std::string& clips) {
    std::ofstream(file) << R"({"format": "myxtts-corrections", "version": 1, "clips": [)" << clips
                        << "]}";
  };
  const auto given = corpus_.path() / "corrections.json";
  correct(given, R"({"clip": "a-1", "was": "One | two", "text": "One to"})");
  published({recording("a")});
  correct(given, R"({"clip": "a-2", "accepted": false})");
  published({recording("a")});
  EXPECT_EQ(file("metadata.csv"), "a-1|One to|One to\n");
  // One from elsewhere is newer than the one that lies here.
  const TemporaryFolder elsewhere;
  correct(elsewhere / "c.json", R"({"clip": "a-1", "was": "One to", "text": "One too"})");
  corpus_.take_corrections(elsewhere / "c.json");
  published({recording("a")});
  EXPECT_EQ(file("metadata.csv"), "a-1|One too|One too\n");
  std::filesystem::remove(given);
  published({recording("a")});
  EXPECT_EQ(file("metadata.csv"), "a-1|One too|One too\n");
}

TEST_F(CorpusFolderTest, SoundsThatBelongToNoClipAreRemoved) {
  std::ofstream(corpus_.wav("old-1")) << "sound";
  published({recording("a")});
  EXPECT_FALSE(fs::exists(corpus_.wav("old-1")));
  EXPECT_TRUE(fs::exists(corpus_.wav("a-1")));
}

TEST_F(CorpusFolderTest, WhatWasMadeOfARecordingIsKept) {
  EXPECT_FALSE(corpus_.made("a").has_value());
  corpus_.keep(recording("a"));
  const auto found = corpus_.made("a");
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(to_json(*found), to_json(recording("a")));
  EXPECT_TRUE(corpus_.others({"a", "b"}).empty());
  ASSERT_EQ(corpus_.others({"b"}).size(), 1U);
  EXPECT_EQ(corpus_.others({"b"})[0].recording, "a");
  std::ofstream(corpus_.work() / "a.clips.json") << "{ half";
  EXPECT_THROW((void)corpus_.made("a"), DataError);
}

TEST_F(CorpusFolderTest, OneProcessAtATimeFillsIt) {
  EXPECT_THROW(CorpusFolder(corpus_.path()), DataError);
}

TEST(CorpusFolder, RefusesAFolderOfSomethingElse) {
  const TemporaryFolder folder;
  std::ofstream(folder / "novel.txt") << "Once upon a time";
  try {
    const CorpusFolder corpus(folder.path());
    FAIL();
  } catch (const DataError& error) {
    EXPECT_NE(std::string(error.what()).find("holds something else than clips"), std::string::npos)
        << error.what();
  }
}

TEST(CorpusFolder, WhatAKilledRunLeftBehindIsRemoved) {
  const TemporaryFolder folder;
  fs::create_directories(folder / "work");
  fs::create_directories(folder / "wavs");
  std::ofstream(folder / "wavs" / "a.wav.123.part") << "half";
  std::ofstream(folder / "work" / ".myxtts-tmp-1-2") << "half";
  const CorpusFolder corpus(folder.path());
  EXPECT_TRUE(fs::is_empty(folder / "wavs"));
  EXPECT_FALSE(fs::exists(folder / "work" / ".myxtts-tmp-1-2"));
}

}  // namespace
}  // namespace myxtts::test::corpus_folder_test
