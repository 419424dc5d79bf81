// SPDX-License-Identifier: Apache-2.0
#include "run/png.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "base/checksum.h"
#include "support/inflate.h"

namespace myxtts::png_test {
namespace {

std::uint32_t be32(const std::string& bytes, std::size_t place) {
  std::uint32_t value = 0;
  for (std::size_t at = 0; at < 4; ++at) {
    value = value << 8 | static_cast<unsigned char>(bytes[place + at]);
  }
  return value;
}

struct Chunk {
  std::string name;
  std::string content;
};

// Checks every checksum on the way.
std::vector<Chunk> chunks_of(const std::string& png) {
  EXPECT_EQ(png.substr(0, 8), std::string("\x89PNG\r\n\x1a\n", 8));
  std::vector<Chunk> chunks;
  for (std::size_t place = 8; place < png.size();) {
    const std::size_t length = be32(png, place);
    chunks.push_back({png.substr(place + 4, 4), png.substr(place + 8, length)});
    EXPECT_EQ(be32(png, place + 8 + length), crc32(bytes_of(png.substr(place + 4, 4 + length))));
    place += 12 + length;
  }
  return chunks;
}

// The shades back from the rows, whose every filter must be "up".
std::vector<std::uint8_t> shades_of(const std::string& rows, std::size_t width) {
  std::vector<std::uint8_t> shades;
  for (std::size_t place = 0; place < rows.size(); place += width + 1) {
    EXPECT_EQ(rows[place], 2);
    for (std::size_t column = 0; column < width; ++column) {
      const std::uint8_t above = place == 0 ? 0 : shades[shades.size() - width];
      shades.push_back(
          static_cast<std::uint8_t>(above + static_cast<unsigned char>(rows[place + 1 + column])));
    }
  }
  return shades;
}

TEST(Png, APictureReadsBackShadeForShade) {
  std::mt19937 random(3);
  Picture picture{.width = 37, .height = 23};
  for (int at = 0; at < 37 * 23; ++at) {
    picture.shades.push_back(static_cast<std::uint8_t>(at < 400 ? random() : 200));
  }
  const auto chunks = chunks_of(png_of(picture));
  ASSERT_EQ(chunks.size(), 4u);
  EXPECT_EQ(chunks[0].name, "IHDR");
  EXPECT_EQ(be32(chunks[0].content, 0), 37u);
  EXPECT_EQ(be32(chunks[0].content, 4), 23u);
  EXPECT_EQ(chunks[1].name, "PLTE");
  EXPECT_EQ(chunks[1].content.size(), 256u * 3);
  EXPECT_EQ(chunks[2].name, "IDAT");
  EXPECT_EQ(shades_of(test::inflate(chunks[2].content), 37), picture.shades);
  EXPECT_EQ(chunks[3].name, "IEND");
}

TEST(Png, LighterShadesHaveLighterColours) {
  const std::string colours = chunks_of(png_of({1, 1, {0}}))[1].content;
  double before = -1;
  for (std::size_t shade = 0; shade < 256; ++shade) {
    const auto part = [&](std::size_t which) {
      return static_cast<double>(static_cast<unsigned char>(colours[3 * shade + which]));
    };
    const double light = 0.299 * part(0) + 0.587 * part(1) + 0.114 * part(2);
    EXPECT_GT(light, before - 0.6) << shade;  // rounded colours
    before = light;
  }
}

TEST(Png, RunsOfEveryLengthComeBack) {
  std::string bytes;
  for (std::size_t length = 1; length < 600; ++length) {
    bytes.append(length, static_cast<char>(length * 7));
  }
  EXPECT_EQ(test::inflate(detail::zlib_stream(bytes)), bytes);
}

TEST(Png, RunsAreShort) {
  EXPECT_LT(detail::zlib_stream(std::string(100'000, '\0')).size(), 1000u);
}

}  // namespace
}  // namespace myxtts::png_test
