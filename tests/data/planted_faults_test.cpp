// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <cmath>
#include <fstream>
#include <functional>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "audio/sndfile_library.h"
#include "data/clip_decoder.h"
#include "data/index/clip_checks.h"
#include "data/layouts/manifest.h"
#include "data/skipped.h"
#include "support/corpus_maker.h"
#include "support/letter_vocabulary.h"
#include "support/temporary_folder.h"
#include "text/tokenizer.h"

namespace myxtts::planted_faults_test {
namespace {

using test::Sound;
using test::SoundFormat;

constexpr const char* kText = "a quiet harbour in winter";  // 21 letters, for about two seconds

// Everything that is looked at before a clip is trained on, in the order of the program.
std::optional<Skipped> first_fault(const ManifestEntry& entry, const Vocabulary& vocabulary,
                                   const DataConfig& limits) {
  if (auto fault = check_text(entry.text)) return fault;
  const Language language =
      parse_language(entry.language.empty() ? limits.language : entry.language);
  if (!vocabulary.find(language_tag(language))) {
    return Skipped{.reason = SkipReason::UnknownLanguage,
                   .measured = std::string(language_code(language))};
  }
  const auto encoded = TextEncoder(vocabulary, language).encode(entry.text);
  if (auto fault = check_tokens(encoded.ids, vocabulary, limits)) return fault;
  const auto header = read_audio_header(entry.audio);
  if (const auto* skipped = std::get_if<Skipped>(&header)) return *skipped;
  const double seconds = std::get<AudioHeader>(header).seconds();
  if (auto fault = check_length(static_cast<std::int64_t>(seconds * 22'050.0), limits))
    return fault;
  if (auto fault = check_pace(entry.text, seconds, limits)) return fault;
  const auto decoded = decode_clip(entry.audio);
  if (const auto* skipped = std::get_if<Skipped>(&decoded)) return *skipped;
  return std::nullopt;
}

// A corpus of lines path|text|speaker|language in which every second line is sound.
class Faults : public testing::Test {
 protected:
  void plant(const std::string& line, SkipReason reason) {
    expected_[next_line()] = reason;
    add(line);
    add_good();
  }

  // A line for a sound of the test's own making.
  void plant_sound(SkipReason reason,
                   const std::function<void(const std::filesystem::path&)>& write,
                   const std::string& text = kText, const std::string& extension = ".wav") {
    const std::string name = "bad_" + std::to_string(next_line()) + extension;
    write(folder_.path() / name);
    plant(name + "|" + text, reason);
  }

  void add_good() {
    const std::string name = "good_" + std::to_string(next_line()) + ".wav";
    test::write_sound(folder_ / name,
                      test::made_sound(2.0, static_cast<std::uint64_t>(next_line())),
                      SoundFormat::Wav16);
    ++good_;
    add(name + "|" + kText);
  }

  void add(const std::string& line) {
    lines_ += line + "\n";
    ++count_;
  }
  std::int64_t next_line() const { return count_ + 1; }

  std::map<std::int64_t, SkipReason> found() {
    test::write_text(folder_ / "list.txt", lines_);
    const Manifest manifest = read_manifest({.path = folder_ / "list.txt"});
    std::map<std::int64_t, SkipReason> reasons;
    const auto take = [&](std::int64_t line, SkipReason reason, const std::string& measured) {
      EXPECT_TRUE(reasons.emplace(line, reason).second) << line;
      EXPECT_FALSE(measured.empty()) << line;
    };
    for (const Skipped& skipped : manifest.skipped) {
      EXPECT_EQ(skipped.manifest, folder_ / "list.txt");
      take(skipped.line, skipped.reason, skipped.measured);
    }
    const Vocabulary vocabulary = test::letter_vocabulary();
    for (const ManifestEntry& entry : manifest.entries) {
      const auto fault = first_fault(entry, vocabulary, limits_);
      if (fault) take(entry.line, fault->reason, fault->measured);
      kept_ += fault ? 0 : 1;
    }
    return reasons;
  }

  test::TemporaryFolder folder_;
  DataConfig limits_;
  std::string lines_;
  std::int64_t count_ = 0;
  std::int64_t good_ = 0;
  std::int64_t kept_ = 0;
  std::map<std::int64_t, SkipReason> expected_;
};

void write_bytes(const std::filesystem::path& path, const std::string& bytes) {
  test::write_text(path, bytes);
}

// Cuts a file that was written whole.
auto cut(SoundFormat format, double share) {
  return [=](const std::filesystem::path& path) {
    test::write_sound(path, test::made_sound(2.0, 5, 24'000), format);
    const auto size = static_cast<double>(std::filesystem::file_size(path));
    std::filesystem::resize_file(path, static_cast<std::uintmax_t>(size * share));
  };
}

auto wav_of(const std::function<float(int)>& value, SoundFormat format = SoundFormat::Wav16) {
  return [=](const std::filesystem::path& path) {
    Sound sound;
    for (int index = 0; index < 44'100; ++index) sound.samples.push_back(value(index));
    test::write_sound(path, sound, format);
  };
}

auto wav_lasting(double seconds, std::int64_t rate = 22'050) {
  return [=](const std::filesystem::path& path) {
    test::write_sound(path, test::made_sound(seconds, 9, rate), SoundFormat::Wav16);
  };
}

std::string letters(std::size_t count) {
  std::string text;
  while (text.size() < count) text += "ab ";
  return text.substr(0, count - 1) + "a";
}

TEST_F(Faults, EachIsNamedAtItsLineAndTheOthersAreKept) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const auto voice = [](int index) { return 0.3F * std::sin(0.05F * static_cast<float>(index)); };
  const std::string sound_wav = test::wav_bytes(test::as_16_bits(test::made_sound(2.0, 11)));

  add_good();
  plant("one column only", SkipReason::BadLine);
  plant("a|b|c|d|e", SkipReason::BadLine);
  plant("|" + std::string(kText), SkipReason::BadLine);
  plant("not_there.wav|" + std::string(kText), SkipReason::MissingFile);
  plant("good_1.wav|" + std::string(kText), SkipReason::DuplicateId);

  plant_sound(SkipReason::Unreadable,
              [](const auto& path) { write_bytes(path, "not a sound at all, just words\n"); });
  plant_sound(SkipReason::Unreadable, [&](const auto& path) {
    write_bytes(path, sound_wav);
    std::filesystem::permissions(path, std::filesystem::perms::none);
    if (::access(path.c_str(), R_OK) == 0) write_bytes(path, "RIFF");  // root reads everything
  });
  plant_sound(SkipReason::Unreadable,
              [&](const auto& path) { write_bytes(path, sound_wav.substr(0, 20)); });
  plant_sound(SkipReason::Empty, [](const auto& path) { write_bytes(path, ""); });
  plant_sound(SkipReason::Empty, [](const auto& path) { write_bytes(path, test::wav_bytes({})); });
  plant_sound(SkipReason::Truncated, cut(SoundFormat::Wav16, 0.6));
  plant_sound(SkipReason::Truncated, cut(SoundFormat::WavFloat, 0.9));
  plant_sound(SkipReason::Truncated, cut(SoundFormat::Flac16, 0.7), kText, ".flac");
  plant_sound(SkipReason::Truncated, cut(SoundFormat::Vorbis, 0.7), kText, ".ogg");
  plant_sound(SkipReason::Truncated, cut(SoundFormat::Opus, 0.7), kText, ".opus");
  plant_sound(SkipReason::Truncated, cut(SoundFormat::Mp3, 0.7), kText, ".mp3");
  plant_sound(SkipReason::NotANumber,
              wav_of([&](int index) { return index == 40'000 ? kNan : voice(index); },
                     SoundFormat::WavFloat));
  plant_sound(SkipReason::NotANumber,
              wav_of([&](int index) { return index == 3 ? kInfinity : voice(index); },
                     SoundFormat::WavFloat));
  plant_sound(SkipReason::Clipped,
              wav_of([](int index) { return index % 200 < 100 ? 1.0F : -1.0F; }));
  plant_sound(SkipReason::Clipped,
              wav_of([&](int index) { return 40.0F * voice(index); }, SoundFormat::WavFloat));
  plant_sound(SkipReason::Silent, wav_of([](int) { return 0.0F; }));
  plant_sound(SkipReason::Silent,
              wav_of([](int index) { return index % 2 == 0 ? 0.0005F : -0.0005F; }));
  plant_sound(SkipReason::AudioTooShort, wav_lasting(0.49), "abc");
  plant_sound(SkipReason::AudioTooLong, wav_lasting(11.62), letters(100));
  plant_sound(SkipReason::BadSampleRate, wav_lasting(2.0, 7'999));
  plant_sound(SkipReason::BadSampleRate, wav_lasting(2.0, 192'001));

  plant_sound(SkipReason::TextEmpty, wav_lasting(2.0), "  ");
  plant_sound(SkipReason::TextNotUtf8, wav_lasting(2.0), "caf\xe9 in winter");
  plant_sound(SkipReason::TextUnknown, wav_lasting(2.0), "\xd8\xb3\xd9\x84\xd8\xa7\xd9\x85");
  plant_sound(SkipReason::TextUnknown, wav_lasting(2.0), "a quiet caf\xc3\xa9");
  plant_sound(SkipReason::TextTooLong, wav_lasting(11.5), letters(200));
  plant_sound(SkipReason::TextTooFast, wav_lasting(1.0), letters(90));
  plant_sound(SkipReason::TextTooSlow, wav_lasting(5.0), "ab");
  plant_sound(SkipReason::UnknownLanguage, wav_lasting(2.0), std::string(kText) + "|anna|fa");
  plant_sound(SkipReason::UnknownLanguage, wav_lasting(2.0), std::string(kText) + "|anna|xx");

  const auto reasons = found();
  EXPECT_EQ(kept_, good_);
  for (const auto& [line, reason] : expected_) {
    ASSERT_TRUE(reasons.contains(line)) << line << " " << name_of(reason);
    EXPECT_EQ(name_of(reasons.at(line)), name_of(reason)) << line;
  }
  EXPECT_EQ(reasons.size(), expected_.size());
  std::set<SkipReason> kinds;
  for (const auto& [line, reason] : reasons) kinds.insert(reason);
  EXPECT_EQ(kinds.size() + 1, all_skip_reasons().size());  // MissingText needs another layout
}

TEST_F(Faults, TheLimitsAreExact) {
  const auto samples_of = [](std::int64_t samples) { return samples; };
  const DataConfig limits;
  EXPECT_EQ(check_length(samples_of(11'025), limits), std::nullopt);
  EXPECT_EQ(check_length(11'024, limits)->reason, SkipReason::AudioTooShort);
  EXPECT_EQ(check_length(255'995, limits), std::nullopt);
  EXPECT_EQ(check_length(255'996, limits)->reason, SkipReason::AudioTooLong);
  EXPECT_EQ(check_length(255'996, {.max_seconds = 12.0}), std::nullopt);
  EXPECT_EQ(check_length(264'601, {.max_seconds = 12.0})->reason, SkipReason::AudioTooLong);
  const Vocabulary vocabulary = test::letter_vocabulary();
  EXPECT_EQ(check_tokens(std::vector<TokenId>(200, 7), vocabulary, limits), std::nullopt);
  EXPECT_EQ(check_tokens(std::vector<TokenId>(201, 7), vocabulary, limits)->measured,
            "201 tokens, at most 200");
  EXPECT_EQ(check_tokens(std::vector<TokenId>{4, 0}, vocabulary, limits)->reason,
            SkipReason::TextUnknown);
  EXPECT_EQ(check_pace(letters(30), 0.5, {.max_chars_per_second = 60.0}), std::nullopt);
  EXPECT_EQ(chars_per_second("ab, \xd8\xb3\xd9\x84!", 2.0), 2.0);
}

TEST_F(Faults, ASoundWithoutItsTextAndATextWithoutItsSoundAreNamed) {
  for (const CorpusLayout layout :
       {CorpusLayout::TextFiles, CorpusLayout::LibriTts, CorpusLayout::Vctk}) {
    const test::TemporaryFolder folder;
    test::make_corpus(folder.path(), layout, test::made_clips(5));
    std::vector<std::filesystem::path> sounds;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder.path())) {
      if (entry.path().extension() == ".wav") sounds.push_back(entry.path());
    }
    const Manifest whole = read_manifest({.path = folder.path()});
    ASSERT_EQ(whole.entries.size(), 5U);
    std::filesystem::remove(whole.entries[1].manifest);
    for (const auto& sound : sounds) {
      const std::string name =
          whole.entries[3].manifest.substr(whole.entries[3].manifest.rfind('/') + 1);
      if (sound.filename().string().starts_with(name.substr(0, name.find('.'))))
        std::filesystem::remove(sound);
    }
    const Manifest harmed = read_manifest({.path = folder.path()});
    EXPECT_EQ(harmed.entries.size(), 3U);
    ASSERT_EQ(harmed.skipped.size(), 2U);
    EXPECT_EQ(harmed.skipped[0].reason == SkipReason::MissingText ? harmed.skipped[0].file
                                                                  : harmed.skipped[1].file,
              whole.entries[1].audio);
    EXPECT_EQ(harmed.skipped[0].reason == SkipReason::MissingFile ? harmed.skipped[0].file
                                                                  : harmed.skipped[1].file,
              whole.entries[3].manifest);
  }
}

}  // namespace
}  // namespace myxtts::planted_faults_test
