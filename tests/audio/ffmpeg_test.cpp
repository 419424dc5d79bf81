// SPDX-License-Identifier: Apache-2.0
#include "audio/ffmpeg.h"

#include <fcntl.h>
#include <unistd.h>
#include <fstream>

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace myxtts::test::ffmpeg_test
