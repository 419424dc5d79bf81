// SPDX-License-Identifier: Apache-2.0
#include "data/index/corpus_scan.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <set>
#include <thread>

#include <gtest/gtest.h>

#include "base/error.h"
#include "data/corpus.h"
#include "support/corpus_maker.h"
#include "support/temporary_folder.h"
#include "text/tokenizer.h"

namespace myxtts::index_folder_test {
namespace {

namespace fs = std::filesystem;

const Vocabulary& vocabulary() {
  static const Vocabulary read =
      Vocabulary::load(fs::path(std::getenv("MYXTTS_TEST_DATA")) / "golden/text/vocab.json");
  return read;
}

// A corpus and a folder for its index.
struct Scene {
  explicit Scene(CorpusLayout layout = CorpusLayout::LjSpeech, std::size_t count = 6)
      : clips(test::made_clips(count)) {
    config.train_data = {{.path = test::make_corpus(folder / "corpus", layout, clips)}};
  }

  ScanRequest request() const {
    return {.source = config.train_data[0], .config = config, .vocabulary = vocabulary()};
  }
  ClipIndex open() const { return open_index(folder / "cache", request()); }
  fs::path index_file() const { return myxtts::index_file(folder / "cache", request()); }
  fs::path sound(int number) const {
    return folder / fmt::format("corpus/wavs/clip_{:04}.wav", number);
  }

  test::TemporaryFolder folder;
  std::vector<test::MadeClip> clips;
  DataConfig config;
};

// The file stays the same by size and time, but nothing can be read from it any more: who still
// knows its length has not looked.
void break_unseen(const fs::path& path) {
  struct stat before {};
  ASSERT_EQ(stat(path.c_str(), &before), 0);
  std::fstream(path, std::ios::in | std::ios::out | std::ios::binary) << "broken!!";
  const timespec times[2] = {before.st_atim, before.st_mtim};
  ASSERT_EQ(utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
}

ino_t inode_of(const fs::path& path) {
  struct stat status {};
  return stat(path.c_str(), &status) == 0 ? status.st_ino : 0;
}

std::set<std::string> files_below(const fs::path& folder) {
  std::set<std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    files.insert(entry.path().string());
  }
  return files;
}

std::int64_t samples_of(const ClipIndex& index, const std::string& id) {
  for (std::size_t i = 0; i < index.size(); ++i) {
    if (index.clip(i).id.ends_with(id)) return index.clip(i).samples;
  }
  return -1;
}

TEST(IndexFolder, KnowsLengthsAndTokensOfEveryClipAndWritesNothingIntoTheCorpus) {
  const Scene scene;
  const auto before = files_below(scene.folder / "corpus");
  const ClipIndex index = scene.open();
  EXPECT_EQ(files_below(scene.folder / "corpus"), before);
  ASSERT_EQ(index.size(), scene.clips.size());
  EXPECT_TRUE(index.skipped().empty());
  const TextEncoder encoder(vocabulary(), Language::En);
  for (std::size_t i = 0; i < index.size(); ++i) {
    const ClipView clip = index.clip(i);
    EXPECT_EQ(clip.samples, std::ssize(scene.clips[i].sound.samples));
    EXPECT_EQ(clip.text, scene.clips[i].text);
    EXPECT_EQ(clip.text_tokens, std::ssize(encoder.encode(scene.clips[i].text).ids));
    EXPECT_EQ(clip.language, "en");
    EXPECT_GT(clip.stamp.size, 0);
  }
}

TEST(IndexFolder, ASecondOpeningReadsNoClipAndWritesNoIndex) {
  const Scene scene;
  scene.open();
  const auto written = inode_of(scene.index_file());
  break_unseen(scene.sound(2));
  const ClipIndex again = scene.open();
  EXPECT_EQ(again.size(), scene.clips.size());
  EXPECT_EQ(inode_of(scene.index_file()), written);
}

TEST(IndexFolder, OnlyTheFileThatHasChangedIsReadAgain) {
  const Scene scene;
  scene.open();
  break_unseen(scene.sound(2));
  test::write_sound(scene.sound(4), test::made_sound(2.5, 99), test::SoundFormat::Wav16);
  testing::internal::CaptureStderr();
  const ClipIndex again = scene.open();
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_EQ(again.size(), scene.clips.size());
  EXPECT_EQ(samples_of(again, "clip_0004"), 55'125);
  EXPECT_NE(log.find("1 file has changed"), std::string::npos) << log;
}

TEST(IndexFolder, SaysOnceForACorpusThatChannelsAreMixed) {
  const Scene scene;
  test::write_sound(scene.sound(2), test::made_sound(2.5, 7, 22'050, 2), test::SoundFormat::Wav16);
  test::write_sound(scene.sound(4), test::made_sound(2.5, 8, 22'050, 6), test::SoundFormat::Wav16);
  testing::internal::CaptureStderr();
  scene.open();
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_NE(log.find("2 files have more than one channel"), std::string::npos) << log;
  EXPECT_EQ(std::count(log.begin(), log.end(), '\n'), 1) << log;
}

TEST(IndexFolder, AClipThatWasBrokenIsLookedAtAgainOnceItsFileChanges) {
  const Scene scene;
  test::write_text(scene.sound(3), "no sound");
  EXPECT_EQ(scene.open().skipped().size(), 1U);
  EXPECT_EQ(scene.open().size(), 5U);
  test::write_sound(scene.sound(3), scene.clips[2].sound, test::SoundFormat::Wav16);
  EXPECT_EQ(scene.open().size(), 6U);
  EXPECT_TRUE(scene.open().skipped().empty());
}

TEST(IndexFolder, AChangedManifestIsReadAndKnownSoundIsNot) {
  const Scene scene;
  scene.open();
  break_unseen(scene.sound(2));
  const fs::path manifest = scene.folder / "corpus/metadata.csv";
  std::string lines = test::contents_of(manifest);
  const auto first = lines.find("The");
  lines.replace(first, 3, "Then the");
  std::ofstream(manifest, std::ios::binary) << lines;
  const ClipIndex again = scene.open();
  EXPECT_EQ(again.size(), scene.clips.size());
  EXPECT_TRUE(again.clip(0).text.starts_with("Then the")) << again.clip(0).text;
}

TEST(IndexFolder, FilesThatAppearInAFolderLayoutOrWereMissingAreFound) {
  const Scene tree(CorpusLayout::TextFiles);
  EXPECT_EQ(tree.open().size(), 6U);
  const auto clip = test::made_clips(8)[7];
  fs::create_directories(tree.folder / "corpus/deeper");
  EXPECT_EQ(tree.open().size(), 6U);
  test::write_sound(tree.folder / "corpus/deeper/new.wav", clip.sound, test::SoundFormat::Wav16);
  test::write_text(tree.folder / "corpus/deeper/new.txt", clip.text);
  EXPECT_EQ(tree.open().size(), 7U);

  const Scene lines;
  fs::rename(lines.sound(5), lines.folder / "away.wav");
  EXPECT_EQ(lines.open().size(), 5U);
  ASSERT_EQ(lines.open().skipped().size(), 1U);
  EXPECT_EQ(lines.open().skipped()[0].reason, SkipReason::MissingFile);
  fs::rename(lines.folder / "away.wav", lines.sound(5));
  EXPECT_EQ(lines.open().size(), 6U);
  fs::remove(lines.sound(1));
  EXPECT_EQ(lines.open().size(), 5U);
}

TEST(IndexFolder, ALanguageHasOneNameAndAnUnknownOneIsLeftOut) {
  Scene scene;
  const std::string text = "|The quiet harbour stones remember winter.|ann|";
  const fs::path manifest = scene.folder / "list.csv";
  test::write_text(manifest, scene.sound(1).string() + text + "EN-us\n" + scene.sound(2).string() +
                                 text + "xx\n" + scene.sound(3).string() + text + "en\n" +
                                 scene.sound(4).string() + text + "eng\n");
  scene.config.train_data = {{.path = manifest, .layout = CorpusLayout::Plain}};
  scene.config.max_chars_per_second = 100;
  scene.config.min_chars_per_second = 0;
  const ClipIndex index = scene.open();
  ASSERT_EQ(index.size(), 2U);
  EXPECT_EQ(index.clip(0).language, "en");
  ASSERT_EQ(index.skipped().size(), 2U);
  EXPECT_EQ(index.skipped()[0].reason, SkipReason::UnknownLanguage);
  EXPECT_EQ(index.skipped()[0].line, 2);
  EXPECT_EQ(index.skipped()[0].measured, "xx");
  EXPECT_EQ(index.skipped()[1].measured, "eng; write en");
}

TEST(IndexFolder, LimitsLanguageAndVocabularyHaveIndexesOfTheirOwn) {
  Scene scene;
  const auto plain = scene.index_file();
  std::set<fs::path> files = {plain};
  scene.config.max_text_tokens = 100;
  files.insert(scene.index_file());
  scene.config.max_seconds = 3.0;
  files.insert(scene.index_file());
  scene.config.min_seconds = 0.25;
  files.insert(scene.index_file());
  scene.config.max_chars_per_second = 20;
  files.insert(scene.index_file());
  scene.config.language = "de";
  files.insert(scene.index_file());
  EXPECT_EQ(files.size(), 6U);

  const std::string json =
      test::contents_of(fs::path(std::getenv("MYXTTS_TEST_DATA")) / "golden/text/vocab.json");
  const Scene other;
  const Vocabulary same = Vocabulary::parse(json, "same");
  const Vocabulary changed = Vocabulary::parse(json + "\n", "changed");
  const auto key = [&other](const Vocabulary& read) {
    return index_key(
        {.source = other.config.train_data[0], .config = other.config, .vocabulary = read});
  };
  EXPECT_EQ(key(same), key(vocabulary()));
  EXPECT_NE(key(changed), key(vocabulary()));
}

TEST(IndexFolder, ADamagedCutOrOlderIndexIsMadeAnewWithOneLine) {
  const Scene scene;
  scene.open();
  const std::string whole = test::contents_of(scene.index_file());
  std::string flipped = whole;
  flipped[flipped.size() / 2] ^= 0x10;
  std::string older = whole;
  older[8] = 0;
  for (const std::string& bytes :
       {flipped, whole.substr(0, whole.size() / 2), older, std::string(), std::string("x")}) {
    std::ofstream(scene.index_file(), std::ios::binary) << bytes;
    testing::internal::CaptureStderr();
    EXPECT_EQ(scene.open().size(), scene.clips.size());
    const std::string log = testing::internal::GetCapturedStderr();
    EXPECT_EQ(std::count(log.begin(), log.end(), '\n'), 1) << log;
    EXPECT_NE(log.find("It is made anew."), std::string::npos) << log;
    EXPECT_EQ(test::contents_of(scene.index_file()), whole);
  }
}

#if !defined(__SANITIZE_THREAD__)  // does not follow a fork that starts threads

TEST(IndexFolder, ProcessesThatOpenACorpusAtOnceAllSeeItWhole) {
  const Scene scene(CorpusLayout::LjSpeech, 40);
  std::vector<pid_t> children;
  for (int i = 0; i < 4; ++i) {
    const pid_t child = fork();
    if (child == 0) _exit(scene.open().size() == scene.clips.size() ? 0 : 1);
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = -1;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(scene.open().size(), scene.clips.size());
}

TEST(IndexFolder, AProcessKilledWhileItScansOrWritesLeavesNothingThatIsBelieved) {
  const Scene scene(CorpusLayout::LjSpeech, 40);
  const auto start = std::chrono::steady_clock::now();
  scene.open();
  const auto whole = std::chrono::steady_clock::now() - start;
  for (int i = 1; i <= 12; ++i) {
    std::error_code ignored;
    fs::remove_all(scene.folder / "cache", ignored);
    const pid_t child = fork();
    if (child == 0) {
      scene.open();
      _exit(0);
    }
    // Anywhere between its start and its end; where exactly does not matter to what follows.
    const auto until = std::chrono::steady_clock::now() + whole * i / 12;
    while (std::chrono::steady_clock::now() < until) std::this_thread::yield();
    kill(child, SIGKILL);
    int status = -1;
    waitpid(child, &status, 0);
    EXPECT_EQ(scene.open().size(), scene.clips.size()) << "killed after " << i << "/12";
  }
}

#endif

TEST(IndexFolder, AFolderThatCannotBeMadeIsADataErrorWithARemedy) {
  const Scene scene;
  test::write_text(scene.folder / "file", "in the way");
  try {
    open_index(scene.folder / "file/cache", scene.request());
    FAIL() << "an index was written into a file";
  } catch (const DataError& error) {
    EXPECT_NE(std::string(error.what()).find("--cache-dir"), std::string::npos) << error.what();
  }
}

TEST(CorpusOpen, TellsWhatIsLeftOutAndStopsWhereThatIsTooMuch) {
  Scene scene(CorpusLayout::LjSpeech, 40);
  test::write_text(scene.sound(7), "no sound");
  scene.config.val_fraction = 0.0;
  const Corpus corpus = Corpus::open(scene.config, vocabulary(), scene.folder / "run");
  EXPECT_EQ(corpus.training().size(), 39U);
  const std::string told = test::contents_of(scene.folder / "run/skipped.jsonl");
  EXPECT_EQ(std::count(told.begin(), told.end(), '\n'), 1) << told;
  EXPECT_NE(told.find("clip_0007.wav"), std::string::npos) << told;

  scene.config.max_skipped = 0.01;
  EXPECT_THROW(Corpus::open(scene.config, vocabulary(), scene.folder / "run"), DataError);
  scene.config.max_skipped = 0.05;
  scene.config.strict = true;
  EXPECT_THROW(Corpus::open(scene.config, vocabulary(), scene.folder / "run"), DataError);
}

TEST(CorpusOpen, WeightsOfTheRunAreCountsOfVisits) {
  Scene scene(CorpusLayout::LjSpeech, 4);
  scene.config.val_fraction = 0.0;
  scene.config.train_data[0].weight = 2.0;
  scene.config.language_weights = Weights{{"en", 3.0}};
  const Corpus corpus = Corpus::open(scene.config, vocabulary(), scene.folder / "run");
  ASSERT_EQ(corpus.training_groups().size(), 1U);
  EXPECT_EQ(corpus.training_groups()[0].visits, 24);
}

TEST(CorpusOpen, TakesValidationFromItsCorpusPartOrFraction) {
  Scene parts(CorpusLayout::Original, 40);
  parts.config.val_fraction = 0.5;
  const fs::path manifest = parts.folder / "corpus/metadata_train.csv";
  const std::string lines = test::contents_of(manifest);
  const auto last = lines.rfind('\n', lines.size() - 2) + 1;
  test::write_text(manifest, lines.substr(0, last));
  test::write_text(parts.folder / "corpus/metadata_eval.csv", lines.substr(last));
  const Corpus with_part = Corpus::open(parts.config, vocabulary(), parts.folder / "run");
  EXPECT_EQ(with_part.validation().size(), 1U);
  EXPECT_EQ(with_part.training().size(), 39U);

  Scene plain(CorpusLayout::LjSpeech, 40);
  plain.config.val_fraction = 0.5;
  const Corpus by_fraction = Corpus::open(plain.config, vocabulary(), plain.folder / "run");
  EXPECT_GT(by_fraction.validation().size(), 8U);
  EXPECT_GT(by_fraction.training().size(), 8U);

  const Scene other(CorpusLayout::TextFiles, 5);
  plain.config.val_data = other.config.train_data;
  plain.config.cache_dir = plain.folder / "shared";
  const Corpus given = Corpus::open(plain.config, vocabulary(), plain.folder / "run2");
  EXPECT_EQ(given.training().size(), 40U);
  EXPECT_EQ(given.validation().size(), 5U);
  EXPECT_TRUE(fs::exists(plain.folder / "shared"));
}

TEST(CorpusOpen, AValidationPartOfWhichNothingCanBeUsedIsNotReplacedInSilence) {
  Scene parts(CorpusLayout::Original, 40);
  parts.config.val_fraction = 0.5;
  test::write_text(parts.folder / "corpus/metadata_eval.csv", "gone.wav|Nobody recorded this.\n");
  testing::internal::CaptureStderr();
  const Corpus held_back = Corpus::open(parts.config, vocabulary(), parts.folder / "run");
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("Not one clip in the validation part"), std::string::npos) << said;
  EXPECT_NE(said.find("missing-file"), std::string::npos) << said;
  EXPECT_GT(held_back.validation().size(), 8U);

  parts.config.val_data = parts.config.train_data;
  try {
    Corpus::open(parts.config, vocabulary(), parts.folder / "run2");
    FAIL() << "what is trained on is measured on";
  } catch (const DataError& error) {
    EXPECT_NE(std::string(error.what()).find("--val-data"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace myxtts::index_folder_test
