// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <span>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "audio/audio_file.h"
#include "e2e/training_bench.h"
#include "support/program.h"
#include "support/small_disk.h"
#include "support/temporary_folder.h"

namespace myxtts::test::clips_test {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kRate = 22'050;

fs::path golden(const char* name) {
  return fs::path(std::getenv("MYXTTS_TEST_DATA")) / "golden" / name;
}

// Recordings of somebody who says the same word again and again: `groups` times three words, with
// 2 s between the groups.
class Clips : public testing::Test {
 protected:
  fs::path recording(const std::string& name, int groups) {
    static const auto word = read_audio(golden("audio/speech.wav")).samples;
    std::vector<float> sound;
    std::mt19937 random(7);
    const auto silence = [&](double seconds) {
      for (int i = 0; i < static_cast<int>(seconds * kRate); ++i) {
        sound.push_back(static_cast<float>(random() % 1000) * 1e-7F);
      }
    };
    const auto seconds = [&] { return static_cast<double>(sound.size()) / kRate; };
    std::ofstream subtitles(folder_ / (name + ".srt"));
    silence(1);
    for (int group = 0; group < groups; ++group) {
      const double begin = seconds();
      for (int i = 0; i < 3; ++i) {
        sound.insert(sound.end(), word.begin(), word.end());
        silence(0.3);
      }
      subtitles << group + 1 << "\n"
                << stamp(begin) << " --> " << stamp(seconds() - 0.3) << "\nThis is number "
                << group + 1 << ".\n\n";
      silence(1.7);
    }
    write_wav(folder_ / (name + ".wav"), sound, kRate);
    return folder_ / (name + ".wav");
  }

  Words command(const std::vector<std::string>& names, const Words& more = {}) const {
    Words words{"clips", "--out", corpus(), "--device", "cpu"};
    for (const auto& name : names) words.push_back(folder_ / (name + ".wav"));
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  ProgramResult with_subtitles(const std::vector<std::string>& names, Words more = {}) const {
    for (const auto& name : names) {
      more.insert(more.end(), {"--subtitles", folder_ / (name + ".srt")});
    }
    return run_program(command(names, more));
  }
  ProgramResult heard(const std::vector<std::string>& names, Words more = {}) const {
    more.insert(more.end(), {"--whisper", golden("whisper"), "--min-confidence", "0"});
    if (std::ranges::find(more, "--language") == more.end())
      more.insert(more.end(), {"--language", "en"});
    return run_program(command(names, more));
  }

  static void expect_no_debris(const fs::path& corpus) {
    for (const auto& entry : fs::recursive_directory_iterator(corpus)) {
      EXPECT_FALSE(entry.path().filename().string().starts_with(".myxtts-tmp")) << entry.path();
      EXPECT_NE(entry.path().extension(), ".part") << entry.path();
    }
  }

  std::string corpus() const { return folder_ / "corpus"; }
  std::string file(const std::string& name) const { return contents_of(fs::path(corpus()) / name); }
  nlohmann::json clips() const { return nlohmann::json::parse(file("clips.json")); }
  std::map<std::string, fs::file_time_type> sounds() const {
    std::map<std::string, fs::file_time_type> times;
    for (const auto& entry : fs::directory_iterator(fs::path(corpus()) / "wavs")) {
      times[entry.path().filename()] = fs::last_write_time(entry.path());
    }
    return times;
  }

  TemporaryFolder folder_;

 private:
  static std::string stamp(double seconds) {
    const auto all = std::llround(seconds * 1000);
    return fmt::format("{:02}:{:02}:{:02},{:03}", all / 3'600'000, all / 60'000 % 60,
                       all / 1000 % 60, all % 1000);
  }
};

TEST_F(Clips, ARecordingWithSubtitlesIsACorpusToTrainOn) {
  recording("talk", 3);
  const auto result = with_subtitles({"talk"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_TRUE(has(result.out, "3 clips, ")) << result.out;
  EXPECT_TRUE(has(result.out, "left out: silence")) << result.out;
  EXPECT_TRUE(has(result.err, "voices are not told apart")) << result.err;

  const auto made = clips()["recordings"][0];
  ASSERT_EQ(made["clips"].size(), 3U);
  EXPECT_EQ(made["clips"][1]["text"], "This is number 2.");
  EXPECT_NEAR(made["clips"][0]["begin"], 0.85, 0.15);
  const std::string name = made["clips"][0]["clip"];
  EXPECT_TRUE(file("metadata.csv").starts_with(name + "|This is number 1.|This is number 1.\n"));
  EXPECT_EQ(read_audio(fs::path(corpus()) / "wavs" / (name + ".wav")).sample_rate, kRate);
  EXPECT_TRUE(fs::exists(fs::path(corpus()) / "clips.html"));

  const auto prepared = run_program({"prepare", corpus(), "--json"});
  EXPECT_EQ(prepared.exit_code, 0) << prepared.err;
  EXPECT_EQ(nlohmann::json::parse(prepared.out)["clips"], 3) << prepared.out;
}

TEST_F(Clips, AnotherRunDoesWhatIsMissingAlone) {
  recording("one", 2);
  recording("two", 1);
  ASSERT_EQ(with_subtitles({"one"}).exit_code, 0);
  const auto before = sounds();
  const auto more = with_subtitles({"one", "two"});
  ASSERT_EQ(more.exit_code, 0) << more.err;
  EXPECT_EQ(file("metadata.csv").find("two-"), file("metadata.csv").rfind("\ntwo-") + 1);
  const auto same = with_subtitles({"one", "two"});
  EXPECT_TRUE(has(same.err, "2 of 2 recordings done by an earlier run")) << same.err;
  EXPECT_EQ(same.out, more.out);
  const auto after = sounds();
  EXPECT_EQ(after.size(), 3U);

  const auto changed = with_subtitles({"one", "two"}, {"--max-seconds", "4.5"});
  EXPECT_TRUE(has(changed.err, "other than in the earlier run: --max-seconds")) << changed.err;
  EXPECT_FALSE(has(changed.err, "done by an earlier run")) << changed.err;

  recording("two", 2);
  const auto renewed = with_subtitles({"one", "two"}, {"--max-seconds", "4.5"});
  EXPECT_TRUE(has(renewed.err, "two.wav is not what it was")) << renewed.err;
  EXPECT_EQ(clips()["recordings"][1]["clips"].size(), 2U);
}

TEST_F(Clips, WhatEarlierRunsMadeOfOtherRecordingsStays) {
  recording("one", 1);
  recording("two", 1);
  ASSERT_EQ(with_subtitles({"one"}).exit_code, 0);
  const auto second = with_subtitles({"two"});
  EXPECT_TRUE(has(second.err, "the clips of one are of an earlier run and stay")) << second.err;
  EXPECT_EQ(sounds().size(), 2U);
  fs::remove(folder_ / "one.wav");
  const auto gone = with_subtitles({"one", "two"});
  EXPECT_EQ(gone.exit_code, 0) << gone.err;
  EXPECT_TRUE(has(gone.err, "one.wav is not there any more; its clips of an earlier run stay"))
      << gone.err;
  EXPECT_EQ(sounds().size(), 2U);
}

TEST_F(Clips, ASoundThatWasRemovedIsMadeAgain) {
  recording("one", 1);
  ASSERT_EQ(with_subtitles({"one"}).exit_code, 0);
  const auto sound = fs::path(corpus()) / "wavs" / sounds().begin()->first;
  const auto bytes = contents_of(sound);
  fs::remove(sound);
  ASSERT_EQ(with_subtitles({"one"}).exit_code, 0);
  EXPECT_EQ(contents_of(sound), bytes);
}

TEST_F(Clips, CorrectionsChangeTextsAndNoSound) {
  recording("one", 2);
  ASSERT_EQ(with_subtitles({"one"}).exit_code, 0);
  const auto before = sounds();
  const std::string name = clips()["recordings"][0]["clips"][0]["clip"];
  const nlohmann::json corrections = {
      {"format", "myxtts-corrections"},
      {"version", 1},
      {"clips", {{{"clip", name}, {"was", "This is number 1."}, {"text", "Quite another."}}}}};
  std::ofstream(fs::path(corpus()) / "corrections.json") << corrections;
  const auto result = with_subtitles({"one"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_TRUE(has(result.out, "corrected: 1")) << result.out;
  EXPECT_TRUE(has(file("metadata.csv"), name + "|Quite another.|")) << file("metadata.csv");
  EXPECT_EQ(sounds(), before);
}

TEST_F(Clips, WhatIsHeardIsKeptAndAnInterruptedRunGoesOn) {
  recording("one", 3);
  recording("two", 2);
  ASSERT_EQ(heard({"one", "two"}).exit_code, 0);
  const auto metadata = file("metadata.csv");
  const auto words = file("work/one.words.jsonl");
  const auto times = sounds();
  // As if the run had been killed while it heard the first recording.
  fs::remove(fs::path(corpus()) / "work/one.clips.json");
  fs::remove(fs::path(corpus()) / "metadata.csv");
  std::ofstream(fs::path(corpus()) / "work/one.words.jsonl") << words.substr(0, words.size() / 2);
  const auto again = heard({"one", "two"});
  EXPECT_EQ(again.exit_code, 0) << again.err;
  EXPECT_TRUE(has(again.err, "1 of 2 recordings done by an earlier run")) << again.err;
  EXPECT_EQ(file("metadata.csv"), metadata);
  EXPECT_EQ(file("work/one.words.jsonl"), words);
}

TEST_F(Clips, KilledAtAnyMomentNothingIsLostAndTheNextRunEndsAlike) {
  recording("one", 2);
  recording("two", 2);
  const Words run = command({"one", "two"}, {"--whisper", golden("whisper"), "--language", "en",
                                             "--min-confidence", "0", "--batch", "2"});
  ASSERT_EQ(run_program(run).exit_code, 0);
  const auto metadata = file("metadata.csv");
  const auto list = file("clips.json");
  const auto words = file("work/one.words.jsonl");
  std::mt19937 random(11);
  for (int round = 0; round < 4; ++round) {
    fs::remove_all(corpus());
    StartedProgram started(run);
    started.ends_within(std::chrono::milliseconds(200 + random() % 1500));
    started.send(SIGKILL);
    started.finish();
    ASSERT_EQ(run_program(run).exit_code, 0);
    EXPECT_EQ(file("metadata.csv"), metadata);
    EXPECT_EQ(file("clips.json"), list);
    EXPECT_EQ(file("work/one.words.jsonl"), words);
    expect_no_debris(corpus());
  }
}

TEST_F(Clips, InterruptedItSaysSoAndEndsWell) {
  recording("one", 150);
  StartedProgram started(command({"one"}, {"--subtitles", folder_ / "one.srt"}));
  ASSERT_TRUE(started.has_said("voices are not told apart"));
  started.send(SIGINT);
  ASSERT_TRUE(started.ends_soon());
  const auto result = started.finish();
  EXPECT_EQ(result.exit_code, 130) << result.err;
  EXPECT_TRUE(has(result.err, "interrupted; the same command goes on")) << result.err;
}

// The tiny model hears Azerbaijani in everything.
TEST_F(Clips, AnotherLanguageThanTheOneThatIsGivenIsSaid) {
  recording("talk", 3);
  const auto english = heard({"talk"});
  EXPECT_TRUE(has(english.err, "talk.wav sounds like az in ")) << english.err;
  EXPECT_TRUE(has(english.err,
                  "and --language says en: its texts may be translations. Type "
                  "--language az, or leave it out."))
      << english.err;
  const auto right = heard({"talk"}, {"--language", "az"});
  EXPECT_EQ(right.exit_code, 0) << right.err;
  EXPECT_FALSE(has(right.err, "sounds like")) << right.err;
}

TEST_F(Clips, ARecordingThatCannotBeUsedIsNamedAndTheOthersAreDone) {
  recording("good", 1);
  std::ofstream(folder_ / "empty.wav").close();
  std::ofstream(folder_ / "text.wav") << "no sound";
  const auto result = heard({"good", "empty", "text", "none"});
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_TRUE(has(result.err, "it has 0 bytes; record or copy it again. It is left out."))
      << result.err;
  EXPECT_TRUE(has(result.err, "text.wav cannot be read as audio")) << result.err;
  EXPECT_TRUE(has(result.err, "none.wav. It is left out.")) << result.err;
  EXPECT_TRUE(has(result.err, "3 of 4 recordings could not be used")) << result.err;
  EXPECT_FALSE(file("metadata.csv").empty());
  const auto alone = heard({"empty"});
  EXPECT_EQ(alone.exit_code, 3);
  EXPECT_TRUE(has(alone.err, "myxtts: " + (folder_ / "empty.wav").string() + " is empty"))
      << alone.err;
  EXPECT_FALSE(has(alone.err, "It is left out")) << "said once: " << alone.err;
}

TEST_F(Clips, WhatIsRefusedIsSaidOnceAndLeavesNoFolder) {
  recording("good", 1);
  const auto refused = [this](const ProgramResult& result, const std::string& words) {
    EXPECT_EQ(result.exit_code, 3) << result.err;
    const auto first = result.err.find(words);
    EXPECT_NE(first, std::string::npos) << result.err;
    EXPECT_EQ(result.err.find(words, first + 1), std::string::npos) << result.err;
    EXPECT_FALSE(fs::exists(corpus()));
  };
  refused(heard({"none"}), "There is no ");
  refused(run_program(command({"good"}, {"--whisper", folder_ / "nothing"})),
          "There is no Whisper model");
  refused(heard({"good"}, {"--text", folder_ / "nothing.txt"}), "check the path after --text");
}

TEST_F(Clips, ASilentRecordingHasNoClipsAndAReason) {
  write_wav(folder_ / "silent.wav", std::vector<float>(kRate * 4), kRate);
  const auto result = heard({"silent"});
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_TRUE(has(result.err, "No clip could be made; ")) << result.err;
  EXPECT_TRUE(has(result.out, "left out: silence")) << result.out;
}

TEST_F(Clips, WhatComesBeforeADamagedPlaceIsUsedAndSaid) {
  const auto bytes = contents_of(recording("talk", 4));
  std::ofstream(folder_ / "talk.wav", std::ios::binary) << bytes.substr(0, bytes.size() * 6 / 10);
  const auto result = with_subtitles({"talk"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_TRUE(has(result.err, "talk.wav was cut short")) << result.err;
  EXPECT_TRUE(has(result.err, "is used.")) << result.err;
  EXPECT_EQ(clips()["recordings"][0]["clips"].size(), 2U);
}

// Full while it decodes, and while it writes clips.
TEST_F(Clips, AFullDiskIsASentenceAndWithRoomTheSameCommandEndsAlike) {
  recording("talk", 20);
  ASSERT_EQ(with_subtitles({"talk"}).exit_code, 0);
  const auto metadata = file("metadata.csv");
  const auto list = file("clips.json");
  for (const int kilobytes : {1'000, 6'000, 8'000}) {
    SmallDisk disk(kilobytes);
    if (!disk.mounted()) GTEST_SKIP() << "no disk can be mounted here";
    const Words run{"clips",       folder_ / "talk.wav", "--out",    disk / "corpus",
                    "--subtitles", folder_ / "talk.srt", "--device", "cpu"};
    const auto result = run_program(run);
    EXPECT_EQ(result.exit_code, 3) << kilobytes;
    EXPECT_TRUE(has(result.err, "full") || has(result.err, "No space left")) << result.err;
    ASSERT_TRUE(disk.resize(64'000));
    EXPECT_EQ(run_program(run).exit_code, 0);
    EXPECT_EQ(contents_of(disk / "corpus/metadata.csv"), metadata) << kilobytes;
    EXPECT_EQ(contents_of(disk / "corpus/clips.json"), list) << kilobytes;
    expect_no_debris(disk / "corpus");
  }
}

TEST_F(Clips, TheTextOfAnotherBookIsRefusedAndWhatWasHeardIsKept) {
  recording("talk", 2);
  ASSERT_EQ(heard({"talk"}).exit_code, 0);
  const auto metadata = file("metadata.csv");
  // As a model that knows English would have heard it.
  const auto key = file("work/talk.words.jsonl");
  nlohmann::json stretch = {{"begin", 0.7}, {"language", "en"}, {"words", nlohmann::json::array()}};
  for (int i = 0; i < 30; ++i) {
    stretch["words"].push_back({" gardens", 1 + 0.2 * i, 1.1 + 0.2 * i, 0.9});
  }
  const auto words = key.substr(0, key.find('\n') + 1) + stretch.dump() + "\n{\"complete\":true}\n";
  std::ofstream(fs::path(corpus()) / "work/talk.words.jsonl") << words;
  std::ofstream(folder_ / "other.txt") << "Quixotic paragraphs wander elsewhere.\n";
  const auto result = heard({"talk"}, {"--text", folder_ / "other.txt"});
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_TRUE(has(result.err, "other.txt is not the text of this recording: of 30 words heard, 0"))
      << result.err;
  EXPECT_TRUE(has(result.err, "or none: then it is transcribed.")) << result.err;
  EXPECT_EQ(file("work/talk.words.jsonl"), words);
  EXPECT_EQ(file("metadata.csv"), metadata);
}

TEST_F(Clips, WhatCannotBeIsRefusedInOneSentence) {
  recording("talk", 1);
  const auto refusal = [&](const Words& more) {
    const auto result = run_program(command({"talk"}, more));
    EXPECT_EQ(result.exit_code, 2) << result.err;
    return result.err;
  };
  EXPECT_TRUE(has(refusal({}), "Give --whisper DIR")) << refusal({});
  const std::string srt = folder_ / "talk.srt";
  EXPECT_TRUE(has(refusal({"--text", srt}), "--text is laid along what a Whisper model hears"));
  EXPECT_TRUE(has(refusal({"--text", srt, "--subtitles", srt}), "contradict one another"));
  EXPECT_TRUE(has(refusal({"--subtitles", srt, "--subtitles", srt}),
                  "There are 2 files of subtitles for 1 recording"));
  const auto wrong = [&](const std::string& flag, const std::string& value) {
    return refusal({"--subtitles", srt, flag, value});
  };
  EXPECT_TRUE(has(wrong("--speakers", "2"), "it must be 1 or auto"));
  EXPECT_TRUE(has(wrong("--speakers", "auto"), "--speaker-model DIR"));
  EXPECT_TRUE(has(wrong("--max-seconds", "3"), "twice as much or more"));
  EXPECT_TRUE(has(wrong("--min-snr", "-3"), "it must be from 0 to 90"));
  EXPECT_TRUE(has(wrong("--min-confidence", "90"), "it must be from 0 to 1"));
  EXPECT_TRUE(has(wrong("--likeness", "2"), "it must be from 0 to 1"));
  EXPECT_TRUE(has(wrong("--precision", "fp8"), "it must be fp32 or bf16"));
  EXPECT_TRUE(has(wrong("--batch", "0"), "it must be 1 or more"));
  EXPECT_FALSE(fs::exists(corpus())) << "nothing was begun";
}

TEST_F(Clips, WhatIsMissingIsSaidBeforeAnythingIsBegun) {
  recording("talk", 1);
  const std::string srt = folder_ / "talk.srt";
  const auto refusal = [&](const Words& more) {
    const auto result = run_program(command({"talk"}, more));
    EXPECT_EQ(result.exit_code, 3) << result.err;
    EXPECT_FALSE(fs::exists(corpus()));
    return result.err;
  };
  EXPECT_TRUE(has(refusal({"--whisper", folder_ / "none"}), "Whisper comes in three forms"));
  EXPECT_TRUE(has(refusal({"--whisper", folder_.path()}), "holds no Whisper"));
  EXPECT_TRUE(has(refusal({"--subtitles", folder_ / "none.srt"}),
                  "none.srt; check the path after --subtitles."));
  EXPECT_TRUE(has(refusal({"--text", folder_ / "none.txt", "--whisper", golden("whisper")}),
                  "none.txt; check the path after --text."));
}

}  // namespace
}  // namespace myxtts::test::clips_test
