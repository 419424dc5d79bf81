// SPDX-License-Identifier: Apache-2.0
#include "data/clip_decoder.h"

#include <sys/stat.h>

#include <atomic>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "audio/audio_file.h"
#include "support/corpus_maker.h"
#include "support/effort.h"
#include "support/temporary_folder.h"

namespace myxtts::clip_decoder_test {
namespace {

using test::Sound;
using test::SoundFormat;

DecodedClip decoded(const std::filesystem::path& path) {
  const auto result = decode_clip(path);
  if (const auto* skipped = std::get_if<Skipped>(&result)) {
    ADD_FAILURE() << path << ": " << name_of(skipped->reason) << ", " << skipped->measured;
    return {};
  }
  return std::get<DecodedClip>(result);
}

bool is_lossy(SoundFormat format) {
  return format == SoundFormat::Vorbis || format == SoundFormat::Opus || format == SoundFormat::Mp3;
}

double loudness(const std::vector<std::int16_t>& samples) {
  double sum = 0.0;
  for (const std::int16_t sample : samples) sum += static_cast<double>(sample) * sample;
  return std::sqrt(sum / static_cast<double>(samples.size()));
}

// libsndfile closes a descriptor that it was told to leave open when it refuses the file; closed
// twice, the number may by then be another thread's file.
TEST(ClipDecoder, ABrokenFileDoesNotDisturbThoseThatOtherThreadsRead) {
  const test::TemporaryFolder folder;
  test::write_sound(folder / "good.wav", test::made_sound(0.6, 3), SoundFormat::Wav16);
  test::write_text(folder / "broken.wav", "no sound");
  std::atomic<bool> done = false;
  std::thread breaker([&] {
    while (!done) EXPECT_TRUE(std::holds_alternative<Skipped>(decode_clip(folder / "broken.wav")));
  });
  int refused = 0;
  for (int i = 0; i < test::repetitions(5'000); ++i) {
    refused += std::holds_alternative<Skipped>(decode_clip(folder / "good.wav")) ? 1 : 0;
  }
  done = true;
  breaker.join();
  EXPECT_EQ(refused, 0);
}

TEST(ClipDecoder, EveryFormatGivesBackWhatWasWritten) {
  const test::TemporaryFolder folder;
  for (const SoundFormat format : test::all_sound_formats()) {
    SCOPED_TRACE(test::name_of(format));
    const Sound sound = test::made_sound(1.3, 7, 24'000);
    const auto path = folder / ("x" + std::string(test::extension_of(format)));
    test::write_sound(path, sound, format);
    const DecodedClip clip = decoded(path);
    const auto expected = test::as_16_bits(sound);
    EXPECT_EQ(clip.sample_rate, 24'000);
    EXPECT_EQ(clip.channels, 1);
    if (is_lossy(format)) {
      EXPECT_NEAR(static_cast<double>(clip.samples.size()), static_cast<double>(expected.size()),
                  2500.0);
      EXPECT_NEAR(loudness(clip.samples) / loudness(expected), 1.0, 0.1);
    } else if (format == SoundFormat::Wav8) {
      ASSERT_EQ(clip.samples.size(), expected.size());
      for (std::size_t index = 0; index < expected.size(); ++index) {
        ASSERT_LE(std::abs(clip.samples[index] - expected[index]), 256) << index;
      }
    } else {
      EXPECT_EQ(clip.samples, expected);
    }
  }
}

TEST(ClipDecoder, HeadersTellTheLengthThatDecodingGives) {
  const test::TemporaryFolder folder;
  for (const SoundFormat format : test::all_sound_formats()) {
    for (const double seconds : {0.1, 0.77, 3.0}) {
      SCOPED_TRACE(std::string(test::name_of(format)) + " " + std::to_string(seconds));
      const auto path = folder / ("x" + std::string(test::extension_of(format)));
      test::write_sound(path, test::made_sound(seconds, 3, 16'000, 2), format);
      const auto header = read_audio_header(path);
      ASSERT_TRUE(std::holds_alternative<AudioHeader>(header));
      const DecodedClip clip = decoded(path);
      EXPECT_EQ(std::get<AudioHeader>(header).frames,
                static_cast<std::int64_t>(clip.samples.size()));
      EXPECT_EQ(std::get<AudioHeader>(header).sample_rate, clip.sample_rate);
      EXPECT_EQ(std::get<AudioHeader>(header).channels, 2);
    }
  }
}

TEST(ClipDecoder, EveryRateAndNumberOfChannelsIsMixedDown) {
  const test::TemporaryFolder folder;
  for (const std::int64_t rate : {8'000, 11'025, 16'000, 44'100, 48'000, 96'000, 192'000}) {
    for (const std::int64_t channels : {1, 2, 3, 6, 8}) {
      for (const SoundFormat format : {SoundFormat::Wav16, SoundFormat::WavFloat}) {
        const Sound sound = test::made_sound(0.05, 4, rate, channels);
        test::write_sound(folder / "x.wav", sound, format);
        const DecodedClip clip = decoded(folder / "x.wav");
        EXPECT_EQ(clip.sample_rate, rate);
        EXPECT_EQ(clip.channels, channels);
        const auto count = static_cast<std::size_t>(channels);
        ASSERT_EQ(clip.samples.size() * count, sound.samples.size());
        for (std::size_t frame = 0; frame < clip.samples.size(); ++frame) {
          double mean = 0.0;
          for (std::size_t channel = 0; channel < count; ++channel) {
            mean += sound.samples[frame * count + channel] * 32'768.0 / static_cast<double>(count);
          }
          ASSERT_NEAR(clip.samples[frame], mean, 0.51) << rate << " " << channels;
        }
      }
    }
  }
}

TEST(ClipDecoder, SixteenBitsSurviveExactlyToTheirLimits) {
  const test::TemporaryFolder folder;
  std::vector<std::int16_t> values;
  for (int value = -32'768; value < 32'768; ++value)
    values.push_back(static_cast<std::int16_t>(value));
  test::write_text(folder / "x.wav", test::wav_bytes(values));
  EXPECT_EQ(decoded(folder / "x.wav").samples, values);
  Sound sound;
  for (const std::int16_t value : values)
    sound.samples.push_back(static_cast<float>(value) / 32'768.0F);
  for (const SoundFormat format :
       {SoundFormat::Flac16, SoundFormat::Flac24, SoundFormat::Wav24, SoundFormat::Wav32,
        SoundFormat::WavFloat, SoundFormat::WavDouble}) {
    const auto path = folder / ("y" + std::string(test::extension_of(format)));
    test::write_sound(path, sound, format);
    EXPECT_EQ(decoded(path).samples, values) << test::name_of(format);
  }
}

TEST(ClipDecoder, ValuesBetweenTwoStepsGoToTheNearer) {
  const test::TemporaryFolder folder;
  Sound sound;
  for (int index = 0; index < 1000; ++index) {
    sound.samples.push_back((static_cast<float>(index * 7 - 3500) + 0.4F) / 32'768.0F);
    sound.samples.push_back((static_cast<float>(index * 7 - 3500) - 0.4F) / 32'768.0F);
  }
  test::write_sound(folder / "x.wav", sound, SoundFormat::WavFloat);
  const DecodedClip clip = decoded(folder / "x.wav");
  for (std::size_t index = 0; index < clip.samples.size(); ++index) {
    ASSERT_EQ(clip.samples[index], static_cast<int>(index / 2) * 7 - 3500) << index;
  }
}

TEST(ClipDecoder, ALongSoundOfUnknownLengthIsReadToItsEnd) {
  const test::TemporaryFolder folder;
  const auto samples = test::as_16_bits(test::made_sound(10.0, 1, 48'000));
  std::string bytes = test::wav_bytes(samples, 48'000);
  bytes.replace(40, 4, "\xff\xff\xff\xff")
      .replace(4, 4, "\xff\xff\xff\xff");  // as a pipe writes it
  test::write_text(folder / "x.wav", bytes);
  EXPECT_EQ(decoded(folder / "x.wav").samples, samples);
}

// As ffmpeg writes it to a pipe: the header cannot know how many samples follow.
TEST(ClipDecoder, AFlacWithoutALengthIsReadToItsEnd) {
  const test::TemporaryFolder folder;
  const Sound sound = test::made_sound(1.3, 7, 24'000);
  test::write_sound(folder / "x.flac", sound, SoundFormat::Flac16);
  std::string bytes = test::contents_of(folder / "x.flac");
  bytes[21] = static_cast<char>(bytes[21] & 0xf0);  // 36 bits of samples
  bytes.replace(22, 4, 4, '\0');
  test::write_text(folder / "x.flac", bytes);
  const auto header = read_audio_header(folder / "x.flac");
  ASSERT_TRUE(std::holds_alternative<AudioHeader>(header)) << std::get<Skipped>(header).measured;
  EXPECT_EQ(std::get<AudioHeader>(header).frames, 31'200);
  EXPECT_EQ(decoded(folder / "x.flac").samples, test::as_16_bits(sound));
}

// Frames of MPEG 2 at 24,000 Hz.
std::size_t frame_bytes(const std::string& mp3, std::size_t at) {
  constexpr int kKilobits[] = {0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160};
  const auto bits = static_cast<unsigned char>(mp3[at + 2]);
  return static_cast<std::size_t>(3 * kKilobits[bits >> 4U]) + (bits >> 1U & 1U);
}

// libsndfile reckons the length of such a file from its first frame's bit rate.
TEST(ClipDecoder, AnMp3OfVaryingBitRateWithoutACountIsReadToItsEnd) {
  constexpr int kLoudFrames = 10;
  const test::TemporaryFolder folder;
  test::write_sound(folder / "x.mp3", test::made_sound(1.3, 7, 24'000), SoundFormat::Mp3);
  const std::string made = test::contents_of(folder / "x.mp3");
  const std::string tag_less = made.substr(frame_bytes(made, 0));
  std::string loud = tag_less.substr(0, 2) + "\xe4" + tag_less.substr(3, 1);  // 160 kbit/s
  loud.resize(frame_bytes(loud, 0), '\0');
  std::string mixed;
  for (int frame = 0; frame < kLoudFrames; ++frame) mixed += loud;
  std::size_t frames = kLoudFrames;
  for (std::size_t at = 0; at < tag_less.size(); at += frame_bytes(tag_less, at)) ++frames;
  for (const std::string& behind : {std::string(), "TAG" + std::string(125, ' ')}) {
    test::write_text(folder / "mixed.mp3", mixed + tag_less + behind);
    const auto samples = decoded(folder / "mixed.mp3").samples;
    EXPECT_NEAR(static_cast<double>(samples.size()), static_cast<double>(frames) * 576.0, 1200.0);
    EXPECT_GT(loudness({samples.end() - 8'000, samples.end() - 4'000}), 500.0) << "its end sounds";
    EXPECT_EQ(read_audio(folder / "mixed.mp3").frames(), std::ssize(samples));
    const auto header = read_audio_header(folder / "mixed.mp3");
    ASSERT_TRUE(std::holds_alternative<AudioHeader>(header)) << std::get<Skipped>(header).measured;
    EXPECT_EQ(std::get<AudioHeader>(header).frames, std::ssize(samples));
  }
}

TEST(ClipDecoder, ASoundThatStandsStillIsSilentWhateverItsValue) {
  const test::TemporaryFolder folder;
  for (const float value : {0.0F, 0.25F, -0.5F}) {
    Sound sound = test::made_sound(0.6, 3);
    std::ranges::fill(sound.samples, value);
    test::write_sound(folder / "x.wav", sound, SoundFormat::Wav16);
    const auto result = decode_clip(folder / "x.wav");
    ASSERT_TRUE(std::holds_alternative<Skipped>(result)) << value;
    EXPECT_EQ(std::get<Skipped>(result).reason, SkipReason::Silent) << value;
  }
}

TEST(ClipDecoder, APointerOfGitLfsIsNamedAsSuch) {
  const test::TemporaryFolder folder;
  test::write_text(folder / "x.wav",
                   "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n");
  const auto result = decode_clip(folder / "x.wav");
  ASSERT_TRUE(std::holds_alternative<Skipped>(result));
  EXPECT_NE(std::get<Skipped>(result).measured.find("git lfs pull"), std::string::npos);
}

TEST(ClipDecoder, AFolderAndAPipeAreNotSounds) {
  const test::TemporaryFolder folder;
  ASSERT_EQ(::mkfifo((folder / "pipe.wav").c_str(), 0600), 0);
  for (const auto& path : {folder.path(), folder / "pipe.wav"}) {
    const auto result = decode_clip(path);
    ASSERT_TRUE(std::holds_alternative<Skipped>(result)) << path;
    EXPECT_EQ(std::get<Skipped>(result).reason, SkipReason::Unreadable);
  }
  const auto absent = decode_clip(folder / "absent.wav");
  EXPECT_EQ(std::get<Skipped>(absent).reason, SkipReason::MissingFile);
}

}  // namespace
}  // namespace myxtts::clip_decoder_test
