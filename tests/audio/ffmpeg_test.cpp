// SPDX-License-Identifier: Apache-2.0
#include "audio/ffmpeg.h"

#include <fcntl.h>
#include <unistd.h>
#include <cstring>
#include <fstream>
#include <vector>

#include <gtest/gtest.h>

#include "base/error.h"
#include "support/environment.h"
#include "support/stand_in_ffmpeg.h"
#include "support/temporary_folder.h"

namespace myxtts::test::ffmpeg_test {
namespace {

std::string_view format_of(const std::filesystem::path& path) {
  const int file = ::open(path.c_str(), O_RDONLY);
  const auto format = ffmpeg_format_of(path, file);
  ::close(file);
  return format;
}

TEST(Ffmpeg, IsForFilesWhoseBytesOrNameAskForIt) {
  const TemporaryFolder folder;
  const auto write = [&folder](const char* name, const std::string& bytes) {
    std::ofstream(folder / name, std::ios::binary) << bytes;
    return folder / name;
  };
  EXPECT_EQ(format_of(write("a", kM4aHead)), "AAC (M4A)");
  EXPECT_EQ(format_of(write("a.WEBM", "what")), "sound in WebM");
  EXPECT_EQ(format_of(write("b", "\x1a\x45\xdf\xa3")), "sound in WebM");
  EXPECT_EQ(format_of(write("c.m4a", "RIFF....WAVE")), "") << "libsndfile reads it";
  EXPECT_EQ(format_of(write("d.wav", "damaged")), "");
  EXPECT_EQ(format_of(write("e.mp3", "\xff\xfb\x90")), "");
}

TEST(Ffmpeg, EndsAtItsLimitsAndItsWordsAreInTheFault) {
  const TemporaryFolder folder;
  std::ofstream(folder / "sound.wav") << std::string(100'000, 'x');
  const auto path = write_stand_in_ffmpeg(folder / "bin", folder / "sound.wav", folder / "calls");
  const Environment environment({{"PATH", path.substr(5)}});
  const auto fault = [&](const char* name, std::int64_t bytes,
                         std::chrono::milliseconds time = std::chrono::minutes(5)) {
    auto result = decode_with_ffmpeg(folder / name, "AAC", bytes, time);
    return std::holds_alternative<FfmpegFault>(result) ? std::get<FfmpegFault>(result)
                                                       : FfmpegFault{};
  };
  EXPECT_EQ(fault("a.m4a", 200'000).what, "");
  const auto long_one = fault("a.m4a", 8'000);
  EXPECT_TRUE(long_one.is_too_long);
  EXPECT_EQ(long_one.what, "AAC, and holds more than 2,000 samples");
  EXPECT_EQ(fault("broken.m4a", 200'000).what,
            "AAC, and ffmpeg cannot read it: moov atom not found");
  EXPECT_EQ(fault("endless.m4a", 200'000, std::chrono::milliseconds(200)).what,
            "AAC, and ffmpeg was not done with it after 200 ms");
}

// A WAV of 32-bit floats as ffmpeg writes it into a pipe: its lengths are not known.
std::string piped_wav(const std::vector<float>& values, int channels, int rate) {
  const auto number = [](std::uint32_t value, int bytes) {
    std::string text;
    for (int i = 0; i < bytes; ++i) text += static_cast<char>(value >> (8 * i) & 0xffU);
    return text;
  };
  const auto frame = static_cast<std::uint32_t>(4 * channels);
  std::string sound(values.size() * sizeof(float), '\0');
  std::memcpy(sound.data(), values.data(), sound.size());
  return "RIFF" + number(0xffffffffU, 4) + "WAVE" + "LIST" + number(3, 4) + std::string(4, 'x') +
         "fmt " + number(16, 4) + number(3, 2) + number(static_cast<std::uint32_t>(channels), 2) +
         number(static_cast<std::uint32_t>(rate), 4) +
         number(static_cast<std::uint32_t>(rate) * frame, 4) + number(frame, 2) + number(32, 2) +
         "data" + number(0xffffffffU, 4) + sound;
}

class FfmpegStreamTest : public testing::Test {
 protected:
  // The stand-in gives these bytes.
  void give(const std::string& bytes) {
    std::ofstream(folder_ / "sound.wav", std::ios::binary) << bytes;
    path_ = write_stand_in_ffmpeg(folder_ / "bin", folder_ / "sound.wav", folder_ / "calls");
  }
  std::string complaint(const char* name) {
    const Environment environment({{"PATH", path_.substr(5)}});
    try {
      FfmpegStream stream(folder_ / name, "AAC");
      std::vector<float> block(1000);
      while (stream.read(block) > 0) {
      }
    } catch (const DataError& error) {
      return error.what();
    }
    return "no error";
  }

  TemporaryFolder folder_;
  std::string path_;
};

TEST_F(FfmpegStreamTest, GivesTheSoundPieceByPieceWhateverTheHeaderSaysOfItsLength) {
  std::vector<float> values(300'002);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i) * 1e-6F;
  give(piped_wav(values, 2, 48'000));
  const Environment environment({{"PATH", path_.substr(5)}});
  FfmpegStream stream(folder_ / "a.m4a", "AAC");
  EXPECT_EQ(stream.sample_rate(), 48'000);
  EXPECT_EQ(stream.channels(), 2);
  std::vector<float> found;
  std::vector<float> block(70'000);
  while (const auto count = stream.read(block)) {
    found.insert(found.end(), block.begin(), block.begin() + static_cast<std::ptrdiff_t>(count));
  }
  EXPECT_EQ(found, values);
}

TEST_F(FfmpegStreamTest, FailsWithItsWordsAndEndsWithItsOwner) {
  give(piped_wav({0.0F, 1.0F}, 1, 8'000));
  EXPECT_NE(complaint("broken.m4a").find("AAC, and ffmpeg cannot read it: moov atom not found."),
            std::string::npos);
  EXPECT_EQ(complaint("a.m4a"), "no error");
  give("no sound at all");
  EXPECT_NE(complaint("a.m4a").find("what ffmpeg gives of it is no sound"), std::string::npos);
  // Larger than a pipe: it is still writing when nobody wants more.
  give(piped_wav(std::vector<float>(1'000'000), 1, 8'000));
  const Environment environment({{"PATH", path_.substr(5)}});
  const FfmpegStream left_early(folder_ / "a.m4a", "AAC");
  EXPECT_EQ(left_early.sample_rate(), 8'000);
}

}  // namespace
}  // namespace myxtts::test::ffmpeg_test
