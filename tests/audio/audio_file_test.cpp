// SPDX-License-Identifier: Apache-2.0
#include "audio/audio_file.h"

#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <string>

#include <gtest/gtest.h>

#include "audio/sndfile_library.h"
#include "base/error.h"

namespace myxtts::test::audio_file_test {
namespace {

namespace fs = std::filesystem;

class AudioFile : public testing::Test {
 protected:
  AudioFile() { fs::create_directories(folder_); }
  ~AudioFile() override { fs::remove_all(folder_); }

  fs::path path(const std::string& name) const { return folder_ / name; }

  fs::path with_bytes(const std::string& name, const std::string& bytes) const {
    std::ofstream(path(name), std::ios::binary) << bytes;
    return path(name);
  }

  fs::path with_samples(const std::string& name, int format, int channels,
                        const std::vector<float>& samples) const {
    SF_INFO info{};
    info.samplerate = 22050;
    info.channels = channels;
    info.format = format;
    auto* file = sndfile_library().open(path(name).c_str(), SFM_WRITE, &info);
    EXPECT_NE(file, nullptr) << sndfile_library().strerror(nullptr);
    sndfile_library().writef_float(file, samples.data(),
                                   static_cast<sf_count_t>(samples.size()) / channels);
    sndfile_library().close(file);
    return path(name);
  }

  static std::string bytes_of(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }

  static std::vector<float> tone(std::size_t count) {
    std::vector<float> samples(count);
    for (std::size_t i = 0; i < count; ++i) {
      samples[i] = 0.5F * std::sin(static_cast<float>(i) * 0.05F);
    }
    return samples;
  }

  // The sentence that reading `path` fails with.
  static std::string complaint(const fs::path& path) {
    try {
      read_audio(path);
    } catch (const DataError& error) {
      return error.what();
    }
    return "no error";
  }

 private:
  fs::path folder_ = fs::temp_directory_path() / fmt::format("myxtts_audio_file.{}", getpid());
};

TEST_F(AudioFile, ReadsTheSpeechOfTheGoldens) {
  const fs::path tests = std::getenv("MYXTTS_TEST_DATA");
  const auto audio = read_audio(tests / "golden/audio/speech.wav");
  EXPECT_EQ(audio.sample_rate, 22050);
  EXPECT_EQ(audio.channels, 1);
  EXPECT_EQ(audio.frames(), 24000);
}

TEST_F(AudioFile, KeepsChannelsAndValuesOfAFlacFile) {
  const auto samples = tone(2000);
  const auto audio =
      read_audio(with_samples("two.flac", SF_FORMAT_FLAC | SF_FORMAT_PCM_24, 2, samples));
  ASSERT_EQ(audio.samples.size(), samples.size());
  EXPECT_EQ(audio.channels, 2);
  EXPECT_EQ(audio.frames(), 1000);
  for (std::size_t i = 0; i < samples.size(); ++i) {
    ASSERT_NEAR(audio.samples[i], samples[i], 1e-6) << i;
  }
}

TEST_F(AudioFile, KeepsValuesBeyondFullScale) {
  const auto audio =
      read_audio(with_samples("loud.wav", SF_FORMAT_WAV | SF_FORMAT_FLOAT, 1, {0.0F, 1.5F, -2.0F}));
  EXPECT_EQ(audio.samples, (std::vector<float>{0.0F, 1.5F, -2.0F}));
}

TEST_F(AudioFile, SaysWhichFileIsMissing) {
  EXPECT_EQ(complaint(path("none.wav")), path("none.wav").string() + ": there is no such file.");
}

TEST_F(AudioFile, RefusesAFolder) {
  EXPECT_NE(complaint(path("")).find("is not a file"), std::string::npos);
}

TEST_F(AudioFile, SaysThatTextIsNotAudio) {
  const auto words = complaint(with_bytes("text.wav", "This is no sound at all."));
  EXPECT_NE(words.find("text.wav cannot be read as audio"), std::string::npos) << words;
}

TEST_F(AudioFile, SaysThatAFileHasNoBytes) {
  EXPECT_NE(complaint(with_bytes("nothing.wav", "")).find("nothing.wav is empty: it has 0 bytes"),
            std::string::npos);
}

TEST_F(AudioFile, SaysThatAFileHoldsNoSamples) {
  const auto words = complaint(with_samples("empty.wav", SF_FORMAT_WAV | SF_FORMAT_PCM_16, 1, {}));
  EXPECT_NE(words.find("holds no sound"), std::string::npos) << words;
}

TEST_F(AudioFile, SaysHowMuchOfATruncatedWavIsMissing) {
  const auto whole =
      bytes_of(with_samples("whole.wav", SF_FORMAT_WAV | SF_FORMAT_PCM_16, 1, tone(1000)));
  const auto words = complaint(with_bytes("cut.wav", whole.substr(0, whole.size() - 600)));
  EXPECT_NE(words.find("promises 600 bytes more"), std::string::npos) << words;
}

TEST_F(AudioFile, RefusesATruncatedFlac) {
  const auto whole =
      bytes_of(with_samples("whole.flac", SF_FORMAT_FLAC | SF_FORMAT_PCM_16, 1, tone(40000)));
  const auto words = complaint(with_bytes("cut.flac", whole.substr(0, whole.size() / 2)));
  EXPECT_NE(words, "no error");
}

TEST_F(AudioFile, ReadsAWavWhoseWriterCouldNotKnowItsLength) {
  auto bytes = bytes_of(with_samples("pipe.wav", SF_FORMAT_WAV | SF_FORMAT_PCM_16, 1, tone(1000)));
  bytes.replace(4, 4, "\xff\xff\xff\xff");
  bytes.replace(bytes.find("data") + 4, 4, "\xff\xff\xff\xff");
  EXPECT_EQ(read_audio(with_bytes("pipe.wav", bytes)).frames(), 1000);
}

// A header that promises two gigabytes, and a file of two kilobytes.
TEST_F(AudioFile, DoesNotBelieveAHeaderThatPromisesGigabytes) {
  auto bytes = bytes_of(with_samples("liar.wav", SF_FORMAT_WAV | SF_FORMAT_PCM_16, 1, tone(1000)));
  bytes.replace(bytes.find("data") + 4, 4, std::string("\x00\x00\xfe\x7f", 4));
  const auto words = complaint(with_bytes("liar.wav", bytes));
  EXPECT_NE(words.find("cut short"), std::string::npos) << words;
}

TEST_F(AudioFile, RefusesValuesThatAreNotNumbers) {
  const auto words = complaint(with_samples("nan.wav", SF_FORMAT_WAV | SF_FORMAT_FLOAT, 1,
                                            {0.0F, std::numeric_limits<float>::quiet_NaN(), 0.0F}));
  EXPECT_NE(words.find("not numbers"), std::string::npos) << words;
}

TEST_F(AudioFile, SurvivesAWavCutAtAnyByteOfItsHeader) {
  const auto whole =
      bytes_of(with_samples("whole.wav", SF_FORMAT_WAV | SF_FORMAT_PCM_16, 1, tone(100)));
  for (std::size_t size = 0; size < 64; ++size) {
    EXPECT_NE(complaint(with_bytes("cut.wav", whole.substr(0, size))), "no error") << size;
  }
}

TEST_F(AudioFile, AWrittenWavReadsBackWithinSixteenBits) {
  const auto samples = tone(500);
  write_wav(path("out.wav"), samples, 24000);
  const auto audio = read_audio(path("out.wav"));
  EXPECT_EQ(audio.sample_rate, 24000);
  ASSERT_EQ(audio.samples.size(), samples.size());
  for (std::size_t i = 0; i < samples.size(); ++i) {
    EXPECT_NEAR(audio.samples[i], samples[i], 1.0 / 32768) << i;
  }
}

TEST_F(AudioFile, ValuesBeyondFullScaleAreClippedWhenWritten) {
  write_wav(path("loud.wav"), std::vector<float>{2.0F, -2.0F}, 24000);
  const auto audio = read_audio(path("loud.wav"));
  EXPECT_NEAR(audio.samples[0], 1.0, 1e-4);
  EXPECT_NEAR(audio.samples[1], -1.0, 1e-4);
}

TEST_F(AudioFile, SaysThatAWavCannotBeWrittenAndLeavesNothingBehind) {
  const auto target = path("no/such/folder/out.wav");
  EXPECT_THROW(write_wav(target, tone(10), 24000), DataError);
  EXPECT_FALSE(fs::exists(target));
}

}  // namespace
}  // namespace myxtts::test::audio_file_test
