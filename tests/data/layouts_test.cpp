// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>
#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/error.h"
#include "config/value_text.h"
#include "data/clip_decoder.h"
#include "data/layouts/manifest.h"
#include "support/corpus_maker.h"
#include "support/temporary_folder.h"

namespace myxtts::layouts_test {
namespace {

using test::MadeClip;
using test::SoundFormat;

std::string described(const std::vector<Skipped>& list) {
  std::string text;
  for (const Skipped& skipped : list) {
    text += skipped.file.string() + ":" + std::to_string(skipped.line) + " " +
            std::string(name_of(skipped.reason)) + " " + skipped.measured + "\n";
  }
  return text;
}

// Clips by text, which is the same in every layout.
std::map<std::string, ManifestEntry> by_text(const Manifest& manifest) {
  std::map<std::string, ManifestEntry> entries;
  for (const ManifestEntry& entry : manifest.entries) entries[entry.text] = entry;
  return entries;
}

bool has_speakers(CorpusLayout layout) {
  return layout != CorpusLayout::LjSpeech && layout != CorpusLayout::Original;
}

void expect_clips(const Manifest& manifest, const std::vector<MadeClip>& clips) {
  EXPECT_EQ(manifest.entries.size(), clips.size());
  EXPECT_TRUE(manifest.skipped.empty()) << described(manifest.skipped);
  const auto entries = by_text(manifest);
  for (const MadeClip& clip : clips) {
    ASSERT_TRUE(entries.contains(clip.text)) << clip.name;
    const ManifestEntry& entry = entries.at(clip.text);
    EXPECT_NE(entry.id.find(clip.name), std::string::npos) << entry.id;
    EXPECT_EQ(entry.speaker, has_speakers(manifest.layout) ? clip.speaker : "");
    const auto decoded = decode_clip(entry.audio);
    ASSERT_TRUE(std::holds_alternative<DecodedClip>(decoded)) << entry.audio;
    EXPECT_EQ(std::get<DecodedClip>(decoded).samples, test::as_16_bits(clip.sound)) << entry.audio;
  }
}

TEST(Layouts, EachIsFoundByLookingAndHoldsTheSameClips) {
  const auto clips = test::made_clips(6);
  for (const auto& [name, layout] : corpus_layouts()) {
    SCOPED_TRACE(name);
    const test::TemporaryFolder folder;
    const auto path = test::make_corpus(folder.path(), layout, clips);
    const Manifest manifest = read_manifest({.path = path});
    EXPECT_EQ(name_of(manifest.layout), name);
    expect_clips(manifest, clips);
    expect_clips(read_manifest({.path = path, .layout = layout}), clips);
  }
}

TEST(Layouts, EveryFormatOfSoundIsFoundInEveryLayout) {
  const auto clips = test::made_clips(2);
  for (const auto& [name, layout] : corpus_layouts()) {
    for (const SoundFormat format : {SoundFormat::Flac16, SoundFormat::Mp3, SoundFormat::Vorbis}) {
      const test::TemporaryFolder folder;
      const Manifest manifest =
          read_manifest({.path = test::make_corpus(folder.path(), layout, clips, format)});
      EXPECT_EQ(manifest.entries.size(), 2U) << name << " " << test::name_of(format);
      EXPECT_EQ(manifest.layout, layout) << name;
      EXPECT_TRUE(manifest.skipped.empty()) << described(manifest.skipped);
    }
  }
}

// A folder in which one short sound can be had under any name.
class Names : public testing::Test {
 protected:
  void sound(const std::string& name) {
    test::write_text(folder_ / name, test::wav_bytes(test::as_16_bits(test::made_sound(0.6, 1))));
  }
  Manifest lines(const std::string& text, const std::string& file = "list.txt",
                 std::optional<CorpusLayout> layout = CorpusLayout::Plain) {
    test::write_text(folder_ / file, text);
    return read_manifest({.path = folder_ / file, .layout = layout});
  }

  test::TemporaryFolder folder_;
};

std::vector<std::string> ids_of(const Manifest& manifest) {
  std::vector<std::string> ids;
  for (const ManifestEntry& entry : manifest.entries) ids.push_back(entry.id);
  return ids;
}

using Ids = std::vector<std::string>;

TEST_F(Names, BlanksRightToLeftNamesAndMissingExtensionsAreFound) {
  const std::string persian = "\xd8\xb5\xd8\xaf\xd8\xa7 \xdb\xb1";
  for (const char* name : {"my sounds/a b.wav", "c.1.flac", "d.MP3", "e.ogg", "f.opus", "g.aiff"}) {
    sound(name);
  }
  sound(persian + ".wav");
  const Manifest manifest =
      lines("my sounds/a b|x\n" + persian + "|x\nc.1|x\nd.MP3|x\ne|x\nf|x\ng.aiff|x\n" +
            "my sounds\\a b.wav|again\n");
  EXPECT_EQ(ids_of(manifest), (Ids{"my sounds/a b", persian, "c.1", "d", "e", "f", "g.aiff"}));
  ASSERT_EQ(manifest.skipped.size(), 1U) << described(manifest.skipped);
  EXPECT_EQ(manifest.skipped[0].reason, SkipReason::DuplicateId);
  EXPECT_EQ(manifest.skipped[0].line, 8);
}

TEST_F(Names, ByteOrderMarkLineEndsOfWindowsAndBlankLinesDoNotMatter) {
  sound("a.wav");
  sound("b.wav");
  const Manifest manifest = lines(
      "\xef\xbb\xbf"
      "a|one \r\n\r\n  \nb.wav| two\r\n");
  EXPECT_EQ(ids_of(manifest), (Ids{"a", "b"}));
  EXPECT_EQ(manifest.entries[0].text, "one");
  EXPECT_EQ(manifest.entries[1].text, "two");
  EXPECT_EQ(manifest.entries[1].line, 4);
  EXPECT_TRUE(manifest.skipped.empty()) << described(manifest.skipped);
}

TEST_F(Names, QuotesOfTablesAreTakenOffAndQuotesOfSpeechAreKept) {
  for (const char* name : {"a.wav", "b|c.wav", "d.wav", "e.wav", "f.wav"}) sound(name);
  const Manifest manifest = lines(
      "\"a.wav\"|\"he said \"\"yes\"\" | no\"\n\"b|c.wav\"|x\nd.wav|\"Yes,\" he said, \"no\"\n"
      "e.wav|\"open\nf.wav|say \"it\"|\"p 1\"\n");
  ASSERT_EQ(ids_of(manifest), (Ids{"a", "b|c", "d", "e", "f"})) << described(manifest.skipped);
  EXPECT_EQ(manifest.entries[0].text, "he said \"yes\" | no");
  EXPECT_EQ(manifest.entries[2].text, "\"Yes,\" he said, \"no\"");
  EXPECT_EQ(manifest.entries[3].text, "\"open");
  EXPECT_EQ(manifest.entries[4].text, "say \"it\"");
  EXPECT_EQ(manifest.entries[4].speaker, "p 1");
}

TEST_F(Names, LjSpeechKeepsQuotesBecauseTheyAreSpoken) {
  sound("wavs/a.wav");
  const Manifest manifest = lines("a|raw|\"Yes.\"\n", "metadata.csv", std::nullopt);
  EXPECT_EQ(manifest.layout, CorpusLayout::LjSpeech);
  EXPECT_EQ(manifest.entries.at(0).text, "\"Yes.\"");
}

TEST_F(Names, AbsolutePathsAndThoseThatLeaveTheFolderAreFollowed) {
  sound("corpus/a.wav");
  sound("other/b.wav");
  const std::string root = folder_.path().string();
  const Manifest manifest = lines(root + "/corpus/a.wav|x\n../other/b|x\n./sub/../a.wav|again\n" +
                                      root + "/other/b.wav|again\n",
                                  "corpus/list.txt");
  EXPECT_EQ(ids_of(manifest), (Ids{"a", root + "/other/b"}));
  ASSERT_EQ(manifest.skipped.size(), 2U);
  EXPECT_EQ(manifest.skipped[0].reason, SkipReason::MissingFile);  // sub/ is not there
  EXPECT_EQ(manifest.skipped[1].reason, SkipReason::DuplicateId);
}

TEST_F(Names, AHeaderIsNoClip) {
  sound("a.wav");
  EXPECT_TRUE(lines("path|text\na.wav|x\n").skipped.empty());
  EXPECT_EQ(lines("a.wav|x\npath|text\n").skipped.size(), 1U);
}

TEST_F(Names, IdsDoNotDependOnHowTheFolderIsWritten) {
  sound("c/wavs/a.wav");
  test::write_text(folder_ / "c/metadata.csv", "a|x\n");
  for (const char* tail : {"c", "c/", "c/.", "./c", "c//", "c/../c"}) {
    const Manifest manifest = read_manifest({.path = folder_.path().string() + "/" + tail});
    EXPECT_EQ(ids_of(manifest), Ids{"wavs/a"}) << tail;
  }
  test::make_corpus(folder_ / "t", CorpusLayout::TextFiles, test::made_clips(1));
  for (const char* tail : {"t", "t/", "./t//"}) {
    const Manifest manifest = read_manifest({.path = folder_.path().string() + "/" + tail});
    EXPECT_EQ(ids_of(manifest), Ids{"p1/clip_0001"}) << tail;
    EXPECT_EQ(manifest.entries[0].speaker, "p1");
  }
}

TEST_F(Names, NemoLinesThatCannotBeUsedAreNamed) {
  sound("a.wav");
  sound("b.wav");
  const Manifest manifest = lines(
      "{\"audio_filepath\": \"a.wav\", \"text\": \"x\", \"offset\": 0.0, \"speaker\": 17, "
      "\"lang\": \"fa\"}\n"
      "{\"audio_filepath\": \"b.wav\", \"text\": \"x\", \"offset\": 1.5}\n"
      "{\"audio_filepath\": \"b.wav\"}\n[1]\nnot json\n" +
          std::string(1000, '[') + "\n",
      "m.jsonl", std::nullopt);
  EXPECT_EQ(manifest.layout, CorpusLayout::NemoJsonl);
  EXPECT_EQ(ids_of(manifest), Ids{"a"});
  EXPECT_EQ(manifest.entries[0].speaker, "17");
  EXPECT_EQ(manifest.entries[0].language, "fa");
  ASSERT_EQ(manifest.skipped.size(), 5U);
  for (std::size_t index = 0; index < 5; ++index) {
    EXPECT_EQ(manifest.skipped[index].reason, SkipReason::BadLine);
    EXPECT_EQ(manifest.skipped[index].line, static_cast<std::int64_t>(index) + 2);
  }
}

TEST_F(Names, VctkTakesTheFirstMicrophoneAndTheOlderFolder) {
  for (const char* name : {"p1_001_mic1.flac", "p1_001_mic2.flac", "p1_002_mic2.flac"}) {
    sound(std::string("wav48_silence_trimmed/p1/") + name);
  }
  for (const char* name : {"p1_001", "p1_002"}) {
    test::write_text(folder_ / ("txt/p1/" + std::string(name) + ".txt"), "two\nlines\n");
  }
  const Manifest both = read_manifest({.path = folder_.path()});
  EXPECT_EQ(ids_of(both),
            (Ids{"wav48_silence_trimmed/p1/p1_001_mic1", "wav48_silence_trimmed/p1/p1_002_mic2"}));
  EXPECT_EQ(both.entries[0].text, "two lines");
  std::filesystem::rename(folder_ / "wav48_silence_trimmed", folder_ / "wav48");
  std::filesystem::rename(folder_ / "wav48/p1/p1_001_mic1.flac", folder_ / "wav48/p1/p1_001.wav");
  EXPECT_EQ(ids_of(read_manifest({.path = folder_.path()})),
            (Ids{"wav48/p1/p1_001", "wav48/p1/p1_002_mic2"}));
}

TEST_F(Names, PartsOfACorpusAreReadApart) {
  sound("wavs/a.wav");
  sound("wavs/b.wav");
  sound("clips/c.mp3");
  const auto parts = [&](const std::filesystem::path& path) {
    return std::pair(ids_of(read_manifest({.path = path}, CorpusPart::Train)),
                     ids_of(read_manifest({.path = path}, CorpusPart::Validation)));
  };
  test::write_text(folder_ / "metadata_train.csv", "a|x\n");
  test::write_text(folder_ / "metadata_eval.csv", "b|x\n");
  EXPECT_EQ(parts(folder_.path()), std::pair(Ids{"wavs/a"}, Ids{"wavs/b"}));
  test::write_text(folder_ / "metadata_train.csv",
                   "audio_file|text|speaker_name\nwavs/a.wav|x|s\n");
  test::write_text(folder_ / "metadata_eval.csv", "audio_file|text|speaker_name\nwavs/b.wav|x|s\n");
  EXPECT_EQ(parts(folder_.path()), std::pair(Ids{"wavs/a"}, Ids{"wavs/b"}));
  EXPECT_EQ(parts(folder_ / "metadata_eval.csv"), std::pair(Ids{"wavs/b"}, Ids{}));
  test::write_text(folder_ / "train.tsv", "path\tsentence\nwavs/a.wav\tx\n");
  test::write_text(folder_ / "dev.tsv",
                   "path\tsentence\tlocale\nc.mp3\t\"he said \"\"no\"\"\"\tzh-CN\n");
  EXPECT_EQ(parts(folder_.path()), std::pair(Ids{"wavs/a"}, Ids{"clips/c"}));
  const Manifest dev = read_manifest({.path = folder_ / "dev.tsv"});
  EXPECT_EQ(dev.layout, CorpusLayout::CommonVoice);
  EXPECT_EQ(dev.entries.at(0).language, "zh-cn");
  EXPECT_EQ(dev.entries.at(0).text, "he said \"no\"");
}

std::string complaint(const CorpusSource& source) {
  try {
    read_manifest(source);
  } catch (const DataError& error) {
    return error.what();
  }
  return "nothing was thrown";
}

void expect_words(const std::string& said, const std::string& words) {
  EXPECT_NE(said.find(words), std::string::npos) << said;
}

TEST_F(Names, TextsThatBelongToNoRecordingMakeNoCorpus) {
  sound("deep/corpora/anna/wavs/a.wav");
  test::write_text(folder_ / "README.txt", "words\n");
  const auto said = [this](const char* folder) { return complaint({.path = folder_ / folder}); };
  EXPECT_NE(said("").find("is a recording without a transcript"), std::string::npos) << said("");
  test::write_text(folder_ / "deep/corpora/anna/metadata.csv", "a|x\n");
  const std::string anna = (folder_ / "deep/corpora/anna").string();
  for (const char* folder : {"deep", "deep/corpora", ""}) {
    EXPECT_NE(said(folder).find("name the one in it, " + anna), std::string::npos) << said(folder);
  }
  sound("deep/b.wav");
  test::write_text(folder_ / "deep/b.txt", "words\n");
  EXPECT_NE(said("deep").find("name the one in it, " + anna), std::string::npos) << said("deep");
  sound("deep/corpora/anna/wavs/part/c.wav");
  EXPECT_NE(said("deep/corpora/anna/wavs/part").find("name the folder above it, " + anna),
            std::string::npos);
}

TEST_F(Names, LinesOfOtherColumnsAreCounted) {
  sound("wavs/a.wav");
  test::write_text(folder_ / "metadata.csv", "a|x\nb\nc|x|y|z\n");
  const Manifest manifest = read_manifest({.path = folder_.path()});
  ASSERT_EQ(manifest.skipped.size(), 2U);
  EXPECT_EQ(manifest.skipped[0].measured, "1 column; must be 2 or 3");
  EXPECT_EQ(manifest.skipped[1].measured, "4 columns; must be 2 or 3");
}

TEST_F(Names, ARecordingIsNoManifestWhateverItsBytesAre) {
  test::write_text(folder_ / "wavs/talk.wav", "RIFF|and|bars\n");
  expect_words(complaint({.path = folder_ / "wavs/talk.wav"}), "without a transcript");
  test::write_text(folder_ / "metadata.csv", "talk|x\n");
  expect_words(complaint({.path = folder_ / "wavs/talk.wav"}),
               "one recording of a corpus: name the folder of all, " + folder_.path().string());
}

TEST_F(Names, LinkedFoldersAreFollowedOnce) {
  test::make_corpus(folder_ / "real", CorpusLayout::TextFiles, test::made_clips(2));
  std::filesystem::create_directory(folder_ / "corpus");
  std::filesystem::create_directory_symlink(folder_ / "real", folder_ / "corpus/link");
  std::filesystem::create_directory_symlink(folder_ / "corpus", folder_ / "real/loop");
  EXPECT_EQ(read_manifest({.path = folder_ / "corpus"}).entries.size(), 2U);
}

TEST_F(Names, ACorpusThatCannotBeReadIsADataErrorThatSaysWhatToDo) {
  expect_words(complaint({.path = folder_ / "absent"}), "There is no corpus");
  expect_words(complaint({.path = folder_.path()}), "is empty; name one with recordings");
  test::write_text(folder_ / "x.md", "words\n");
  expect_words(complaint({.path = folder_ / "x.md"}), "--format");
  expect_words(complaint({.path = folder_ / "x.md", .layout = CorpusLayout::Vctk}),
               "name the folder");
  expect_words(complaint({.path = folder_ / "x.md", .layout = CorpusLayout::CoquiCsv}),
               "audio_file");
  expect_words(complaint({.path = folder_.path(), .layout = CorpusLayout::LjSpeech}),
               "metadata.csv");
  expect_words(complaint({.path = folder_.path(), .layout = CorpusLayout::Plain}), "no manifest");
  test::write_text(folder_ / "utf16.txt", std::string("\xff\xfe"
                                                      "a\0|\0",
                                                      6));
  expect_words(complaint({.path = folder_ / "utf16.txt", .layout = CorpusLayout::Plain}), "UTF-8");
  test::write_text(folder_ / "empty.txt", "\n\n");
  expect_words(complaint({.path = folder_ / "empty.txt", .layout = CorpusLayout::Plain}),
               "empty.txt is empty; write a line name|text for each recording.");
  sound("a.wav");
  test::write_text(folder_ / "one.txt", "a.wav|x\n");
  test::write_text(folder_ / "two.txt", "a.wav|x\n");
  expect_words(complaint({.path = folder_.path()}), "several manifests");
  test::write_text(folder_ / "train.txt", "a.wav|x\n");
  EXPECT_EQ(complaint({.path = folder_.path()}), "nothing was thrown");
}

// The files are another's while it lives, as they are for everybody but root.
class AsNobody {
 public:
  AsNobody() {
    if (is_root_ && ::seteuid(65534) != 0) ADD_FAILURE();
  }
  AsNobody(const AsNobody&) = delete;
  AsNobody& operator=(const AsNobody&) = delete;
  ~AsNobody() {
    if (is_root_ && ::seteuid(0) != 0) ADD_FAILURE();
  }

 private:
  const bool is_root_ = ::geteuid() == 0;
};

TEST_F(Names, WhatMayNotBeReadIsNamedAsSuch) {
  namespace fs = std::filesystem;
  fs::permissions(folder_.path(), fs::perms(0755));
  test::write_text(folder_ / "metadata.csv", "a|words\n");
  sound("wavs/a.wav");
  fs::permissions(folder_ / "wavs", fs::perms(0755));
  const auto said = [&](const fs::path& path) {
    const auto before = fs::status(path).permissions();
    fs::permissions(path, fs::perms::none);
    std::string text;
    {
      const AsNobody nobody;
      text = complaint({.path = folder_.path()});
    }
    fs::permissions(path, before);
    return text;
  };
  expect_words(said(folder_ / "metadata.csv"), "metadata.csv cannot be read: Permission denied");
  const auto of_wavs = said(folder_ / "wavs");
  expect_words(of_wavs, "The only recording that");
  expect_words(of_wavs, "wavs cannot be read: Permission denied. It belongs to ");
  expect_words(of_wavs, "have it copied to a folder of yours");
}

TEST_F(Names, FoldersAndManifestsMayBeWrittenInCapitals) {
  for (const char* folder : {"Wavs", "WAVS"}) {
    std::filesystem::remove_all(folder_ / "Wavs");
    test::write_text(folder_ / "Metadata.CSV", "a|words\n");
    sound(std::string(folder) + "/a.wav");
    const Manifest manifest = read_manifest({.path = folder_.path()});
    EXPECT_EQ(manifest.layout, CorpusLayout::LjSpeech) << folder;
    ASSERT_EQ(manifest.entries.size(), 1U) << folder << " " << described(manifest.skipped);
    EXPECT_EQ(manifest.entries[0].audio, (folder_ / folder / "a.wav").string());
  }
}

TEST_F(Names, ACorpusOneLevelAboveOrBelowIsNamed) {
  sound("anna/wavs/a.wav");
  test::write_text(folder_ / "anna/metadata.csv", "a|words\n");
  const std::string folder = folder_.path().string();
  const auto said = [](const std::filesystem::path& path) { return complaint({.path = path}); };
  EXPECT_EQ(said(folder_.path()),
            folder + " is no corpus itself: name the one in it, " + folder + "/anna.");
  EXPECT_EQ(said(folder_ / "anna/wavs/"), folder +
                                              "/anna/wavs is the inside of a corpus: name the "
                                              "folder above it, " +
                                              folder + "/anna.");
  test::write_text(folder_ / "README.txt", "Two voices.");
  sound("bob/wavs/a.wav");
  test::write_text(folder_ / "bob/metadata.csv", "a|words\n");
  expect_words(said(folder_.path()), "such as " + folder + "/anna, " + folder + "/bob.");
}

TEST_F(Names, ARecordingThatWasConvertedAndKeptIsOneClip) {
  for (const char* name : {"a.wav", "b.wav"}) sound(name);
  for (const char* name : {"a.m4a", "c.M4A"}) test::write_text(folder_ / name, "sound");
  for (const char* name : {"a.txt", "b.txt", "c.txt"}) test::write_text(folder_ / name, "words");
  const Manifest manifest = read_manifest({.path = folder_.path()});
  EXPECT_TRUE(manifest.skipped.empty()) << described(manifest.skipped);
  ASSERT_EQ(manifest.entries.size(), 3U);
  EXPECT_EQ(manifest.entries[0].audio, (folder_ / "a.wav").string());
  EXPECT_EQ(manifest.entries[2].audio, (folder_ / "c.M4A").string());
}

}  // namespace
}  // namespace myxtts::layouts_test
