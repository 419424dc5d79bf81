// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "audio/audio_file.h"
#include "audio/mel_spectrogram.h"
#include "audio/resample.h"
#include "data/cache/feature_cache.h"
#include "data/corpus.h"
#include "model/dvae.h"
#include "pipeline/feature_writer.h"
#include "support/one_sentence.h"
#include "support/program.h"
#include "support/stand_in_ffmpeg.h"
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

// The skipped.jsonl that a warning leads to.
fs::path list_named_in(const std::string& err) {
  const auto from = err.find("; see ") + 6;
  return err.substr(from, err.find('\n', from) - from);
}

TEST_F(Prepare, EachCorpusHasAListOfItsOwnClipsThatAreLeftOut) {
  const auto prepared = [this](const std::string& name) {
    write_tone_corpus(folder_ / name / "corpus", 1);
    add_line(folder_ / name / "corpus", "lost-" + name, "sixteen letters or so");
    const auto result = run_program({"prepare", (folder_ / name / "corpus").string(), "--model",
                                     model(), "--cache-dir", (folder_ / "cache").string()});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return list_named_in(result.err);
  };
  const fs::path first = prepared("first");
  const fs::path second = prepared("second");
  EXPECT_EQ(contents_of(first).find("lost-second"), std::string::npos);
  EXPECT_NE(contents_of(first).find("lost-first"), std::string::npos);
  EXPECT_NE(contents_of(second).find("lost-second"), std::string::npos);
}

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

TEST_F(Prepare, SilenceUnknownSignsAndPointersAreNamedAndAFolderInCapitalsIsRead) {
  const auto folder = folder_ / "corpus";
  fs::rename(folder / "wavs", folder / "WAVS");
  std::vector<float> still(30'000, 0.3F);
  write_wav(folder / "WAVS/still.wav", still, 22'050);
  add_line(folder, "still", "sixteen letters or so");
  write_tone(folder / "WAVS/snow.wav", 500.0, 1.3);
  add_line(folder, "snow", "a ☃ of sixteen letters");
  std::ofstream(folder / "WAVS/pointer.wav")
      << "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n";
  add_line(folder, "pointer", "sixteen letters or so");
  const auto result = prepare({"--model", model()});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const auto expect = [&](const std::string& words) {
    EXPECT_NE((result.err + result.out).find(words), std::string::npos) << words << "\n"
                                                                        << result.err << result.out;
  };
  expect("WAVS/snow.wav (line 26): '☃' (U+2603) is not in the vocabulary. Write it in letters");
  expect("2 clips are left out (1 unreadable, 1 text-unknown)");
  expect("WAVS/pointer.wav (a git-lfs pointer, which names");
  expect("  1  silent: " + (folder / "WAVS/still.wav").string() + " (samples from 983");
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
  const auto here = fs::current_path();
  fs::current_path("/proc");  // where nobody may write, and need not
  const auto learnt = run_program(
      {"prepare", (folder_ / "corpus").string(), "--cache-dir", (folder_ / "cache").string()});
  fs::current_path(here);
  EXPECT_EQ(learnt.exit_code, 0) << learnt.err;
  EXPECT_NE(learnt.err.find("vocabulary learnt from these texts"), std::string::npos) << learnt.err;
  EXPECT_NE(learnt.err.find("an epoch visits each of the 24 clips of "), std::string::npos)
      << learnt.err;
  EXPECT_EQ(learnt.err.find("for validation"), std::string::npos) << learnt.err;
  EXPECT_NE(learnt.out.find("corpus: 24 clips, 32 s\n"), std::string::npos) << learnt.out;
  EXPECT_EQ(learnt.out.find("1.2 to    1.2"), std::string::npos) << learnt.out;

  const auto mistyped = run_program({"prepare", (folder_ / "mistyped").string()});
  EXPECT_EQ(mistyped.exit_code, 3) << mistyped.err;
  expect_one_sentence(mistyped.err);
}

std::size_t count_of(const std::string& text, const std::string& words) {
  std::size_t count = 0;
  for (auto at = text.find(words); at != std::string::npos; at = text.find(words, at + 1)) ++count;
  return count;
}

TEST_F(Prepare, ReadsWhatLibsndfileCannotThroughFfmpegAndNamesItWhereThatIsMissing) {
  const auto corpus = folder_ / "phone";
  write_tone_corpus(corpus, 1);
  for (const char* name : {"-rf $(x) 'y'", "broken", "second"}) {
    std::ofstream(corpus / "wavs" / (std::string(name) + ".m4a"), std::ios::binary) << kM4aHead;
    add_line(corpus, name, "sixteen letters or so");
  }
  // A recording that was converted and kept is one clip.
  std::ofstream(corpus / "wavs/clip00.m4a", std::ios::binary) << kM4aHead;
  const auto calls = folder_ / "calls";
  const auto path = write_stand_in_ffmpeg(folder_ / "bin", corpus / "wavs/clip00.wav", calls);
  const std::vector<std::string> words = {"prepare",     corpus.string(),
                                          "--model",     model(),
                                          "--cache-dir", (folder_ / "phone-cache").string(),
                                          "--json"};
  const auto result = run_program(words, {.environment = {path}});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(Json::parse(result.out).at("clips"), 3) << result.out;
  const auto skipped = contents_of(list_named_in(result.err));
  EXPECT_NE(skipped.find("AAC (M4A), and ffmpeg cannot read it: moov atom not found"),
            std::string::npos)
      << skipped;
  const auto said = contents_of(calls);
  // Once for the length, once for the sound; the name is one argument, and no playlist is followed.
  EXPECT_EQ(count_of(said, "second.m4a\n"), 2U) << said;
  EXPECT_NE(said.find("file:" + (corpus / "wavs/-rf $(x) 'y'.m4a\n").string()), std::string::npos);
  EXPECT_NE(said.find("-protocol_whitelist\nfile\n-format_whitelist\nmov,"), std::string::npos);
  EXPECT_EQ(said.find("clip00.m4a"), std::string::npos) << said;

  fs::remove_all(folder_ / "phone-cache");
  const auto without = run_program(words, {.environment = {"PATH=/nonexistent"}});
  ASSERT_EQ(without.exit_code, 0) << without.err;
  EXPECT_NE(without.err.find("m4a is AAC (M4A), which is read through ffmpeg: install it (apt "
                             "install ffmpeg), or convert the file"),
            std::string::npos)
      << without.err;
  EXPECT_EQ(Json::parse(without.out).at("clips"), 1) << without.out;
  const auto installed = run_program(words, {.environment = {path}});
  EXPECT_EQ(Json::parse(installed.out).at("clips"), 3) << "the index is not the last word";
}

TEST_F(Prepare, ReadsM4aWithTheRealFfmpegWhereItIsInstalled) {
  const auto corpus = folder_ / "phone";
  write_tone_corpus(corpus, 2);
  const auto wav = (corpus / "wavs/clip00.wav").string();
  const auto m4a = (corpus / "wavs/-clip.m4a").string();
  if (std::system(("ffmpeg -v error -i '" + wav + "' 'file:" + m4a + "' 2>/dev/null").c_str()) !=
      0) {
    GTEST_SKIP() << "there is no ffmpeg";
  }
  fs::remove(wav);
  std::ofstream(corpus / "wavs/list.m4a") << "#EXTM3U\n#EXTINF:5,\nclip01.wav\n#EXT-X-ENDLIST\n";
  std::ofstream(corpus / "metadata.csv")
      << "-clip|sixteen letters or so\nclip01|sixteen letters or "
         "so\nlist|sixteen letters or so\n";
  const auto result = run_program({"prepare", corpus.string(), "--model", model(), "--json",
                                   "--cache-dir", (folder_ / "phone-cache").string()});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const auto json = Json::parse(result.out);
  EXPECT_EQ(json.at("clips"), 2) << "a playlist is no recording" << result.err;
  EXPECT_EQ(json.at("skipped_by_reason").at("unreadable"), 1);
  EXPECT_NEAR(json.at("hours").get<double>() * 3600.0, 1.2 + 1.21, 0.15);
}

TEST_F(Prepare, OneClipIsNotOneClips) {
  write_tone_corpus(folder_ / "one", 1);
  const auto page = folder_ / "one.html";
  const auto result =
      run_program({"prepare", (folder_ / "one").string(), "--model", model(), "--batch-size", "1",
                   "--cache-dir", (folder_ / "one-cache").string(), "--report", page.string()});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const std::string html = contents_of(page);
  for (const char* words : {"<b>1</b><span>clip</span>", "<b>1</b><span>speaker</span>",
                            "<b>1 step</b><span>an epoch, of 1 clip</span>"}) {
    EXPECT_NE(html.find(words), std::string::npos) << words << html.substr(0, 3000);
  }
  EXPECT_NE(result.out.find("one: 1 clip, "), std::string::npos) << result.out;
  EXPECT_EQ(result.out.find("1 clips"), std::string::npos) << result.out;
}

TEST_F(Prepare, NamesWhatKeepsACorpusFromBeingReadAndLeavesNothingBehind) {
  const auto said = [this](const std::string& corpus, int code = 3) {
    const auto cache = folder_ / "unused";
    const auto result =
        run_program({"prepare", corpus, "--model", model(), "--cache-dir", cache.string()});
    EXPECT_EQ(result.exit_code, code) << result.err;
    expect_one_sentence(result.err);
    EXPECT_FALSE(fs::exists(cache)) << corpus;
    return result.err;
  };
  const auto folder = folder_ / "odd";
  fs::create_directories(folder / "wavs");
  add_line(folder, "clip00", "sixteen letters or so");
  const auto expect = [](const std::string& text, const std::string& words) {
    EXPECT_NE(text.find(words), std::string::npos) << text;
  };
  expect(said(folder.string()), "odd/metadata.csv names was not found, clip00: the folder");
  expect(said(folder.string()), "odd/wavs is empty");
  std::ofstream(folder / "metadata.csv") << "\n";
  write_tone_corpus(folder_ / "few", 3);
  fs::remove(folder / "wavs");
  fs::copy(folder_ / "few/wavs", folder / "wavs");
  for (const fs::path& named : {folder, folder / "metadata.csv"}) {
    expect(said(named.string()),
           "odd/metadata.csv is empty; write a line name|text for each recording.");
  }
  for (const auto& [sign, name] :
       {std::pair(',', "commas"), std::pair(';', "semicolons"), std::pair('\t', "tabs")}) {
    std::ofstream(folder / "metadata.csv")
        << fmt::format("id{0}text\nclip00{0}sixteen letters or so\n", sign);
    for (const fs::path& named : {folder, folder / "metadata.csv"}) {
      expect(said(named.string()),
             fmt::format("odd/metadata.csv, line 2: its columns are separated by {}, and bars must "
                         "separate them, as in \"clip00|sixteen letters or so\"; change",
                         name));
    }
  }
  std::ofstream(folder / "metadata.csv") << "clip00\nclip01\n";
  expect(
      said(folder.string()),
      "odd/metadata.csv, line 1: \"clip00\" is the name of a recording, and its text is missing; "
      "write name|text into every line.");
  std::ofstream(folder / "metadata.csv") << "id\ttext\nclip00\tsixteen letters or so\n";
  const auto forced = run_program({"prepare", folder.string() + ",format=ljspeech", "--model",
                                   model(), "--cache-dir", (folder_ / "forced").string()});
  expect(forced.err, "line 2: its columns are separated by tabs");
  fs::create_directory(folder_ / "bare");
  expect(said((folder_ / "bare").string()), "bare is empty; name one with recordings and their");
  fs::remove_all(folder / "wavs");
  std::ofstream(folder / "metadata.csv");
  add_line(folder, "clip00", "sixteen letters or so");
  expect(said(folder.string()), "there is no folder " + (folder / "wavs").string());
  fs::remove(folder / "metadata.csv");
  write_tone(folder / "my talk.wav", 200.0, 30.0);
  expect(said(folder.string()), "my talk.wav is a recording without a transcript");
  expect(said((folder / "my talk.wav").string()),
         "type myxtts clips '" + (folder / "my talk.wav").string() + "' --whisper WHISPER --out '" +
             (folder / "my talk-clips").string() + "' (WHISPER: the folder of that model)");
  write_tone(folder / "second.wav", 200.0, 3.0);
  expect(said(folder.string()),
         "my talk.wav is a recording without a transcript, and so is one "
         "more, and");
  expect(said(folder.string()), "myxtts clips " + folder.string() +
                                    "/*.wav --whisper WHISPER --out " + folder.string() +
                                    "-clips ");
  fs::create_directory(folder_ / "corpora");
  fs::rename(folder_ / "few", folder_ / "corpora/anna");
  expect(said((folder_ / "corpora/").string()),
         "corpora is no corpus itself: name the one in it, " + (folder_ / "corpora/anna").string());
  expect(said((folder_ / "corpora/anna/wavs").string()),
         "is the inside of a corpus: name the folder above it, " +
             (folder_ / "corpora/anna").string());
  expect(said("caf\xe9", 2), "'caf\\xe9', which is not UTF-8");
  expect(said((folder_ / "mistyped").string()), "There is no corpus");
}

TEST_F(Prepare, AClipThatIsTooLongIsNamedWithTheCommandThatCutsIt) {
  write_tone(folder_ / "corpus/wavs/talk.wav", 200.0, 30.0);
  add_line(folder_ / "corpus", "talk",
           "a long talk that nobody cut into clips yet, with many words");
  const auto result = prepare({"--model", model()});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE(result.err.find("talk.wav is too long to learn from (30.00 s, at most 11.61 s). Have "
                            "it cut into clips with their texts (myxtts clips "),
            std::string::npos)
      << result.err;
  fs::remove(folder_ / "corpus/metadata.csv");
  add_line(folder_ / "corpus", "talk", "nothing but the long talk that nobody cut yet");
  const auto nothing = prepare({"--model", model()});
  EXPECT_EQ(nothing.exit_code, 3) << nothing.err;
  EXPECT_NE(nothing.err.find("No clip of " + (folder_ / "corpus").string() +
                             " can be used (1 audio-too-long); "),
            std::string::npos)
      << nothing.err;
}

TEST_F(Prepare, TheReportLiesBesideTheIndexNamesTheClipsAndPlaysThem) {
  const auto corpus = folder_ / "a & <b>";
  write_tone_corpus(corpus, 24);
  write_tone(corpus / "wavs/odd \"one\".wav", 500.0, 5.0);
  add_line(corpus, "odd \"one\"", "seventeen letters here");  // four a second
  write_tone(corpus / "wavs/silent.wav", 500.0, 1.3, 0.0);
  add_line(corpus, "silent", "sixteen letters or so");
  const auto cache = folder_ / "pages";
  const auto result =
      run_program({"prepare", corpus.string(), "--model", model(), "--cache-dir", cache.string()});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  std::vector<fs::path> pages;
  for (const auto& entry : fs::directory_iterator(cache)) {
    if (entry.path().string().ends_with(".report.html")) pages.push_back(entry.path());
  }
  ASSERT_EQ(pages.size(), 1U);
  EXPECT_TRUE(pages[0].filename().string().starts_with("a & <b>-")) << pages[0];
  EXPECT_NE(result.err.find(pages[0].string()), std::string::npos) << result.err;
  const auto page = contents_of(pages[0]);
  EXPECT_NE(page.find("src=\"file:///"), std::string::npos);
  EXPECT_NE(page.find("/a%20%26%20%3Cb%3E/wavs/odd%20%22one%22.wav\"></audio>"), std::string::npos);
  EXPECT_NE(page.find("silent.wav"), std::string::npos) << "clips that are left out are named";
  EXPECT_EQ(page.find("& <b>"), std::string::npos);
  EXPECT_EQ(page.find("odd \"one"), std::string::npos);
}

TEST_F(Prepare, AScriptThatIsNotTheLanguagesIsAWarningWithTheFlagThatMendsIt) {
  const auto corpus = folder_ / "persian";
  write_tone_corpus(corpus, 10);
  std::ofstream(corpus / "metadata.csv");
  for (int clip = 0; clip < 10; ++clip) {
    add_line(corpus, "clip0" + std::to_string(clip),
             clip == 0 ? "sixteen letters or so" : "گربه کوچک پنجره را دید");
  }
  for (const std::vector<std::string>& model_words :
       {std::vector<std::string>{}, {"--model", model()}}) {
    std::vector<std::string> words = {"prepare", corpus.string(), "--cache-dir",
                                      (folder_ / "fa-cache").string()};
    words.insert(words.end(), model_words.begin(), model_words.end());
    const auto warned = run_program(words);
    EXPECT_NE(warned.err.find("9 of 10 transcripts of " + corpus.string() +
                              " are written in Arabic script, which en does not use: give "
                              "--language fa"),
              std::string::npos)
        << warned.err;
  }
  const auto mended = run_program({"prepare", corpus.string(), "--cache-dir",
                                   (folder_ / "fa-cache").string(), "--language", "fa"});
  EXPECT_EQ(mended.exit_code, 0) << mended.err;
  EXPECT_EQ(mended.err.find("9 of 10 transcripts"), std::string::npos) << mended.err;
}

TEST_F(Prepare, SaysWhatItNeeds) {
  const auto vocabulary = (folder_ / "model/vocab.json").string();
  EXPECT_EQ(prepare({"--vocab", vocabulary, "--codes"}).exit_code, 2);
  EXPECT_EQ(prepare({"--vocab", vocabulary}).exit_code, 0);
}

}  // namespace
}  // namespace myxtts::test::prepare_test
