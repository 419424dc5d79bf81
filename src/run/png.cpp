// SPDX-License-Identifier: Apache-2.0
#include "run/png.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

#include "base/checksum.h"
#include "base/error.h"

namespace myxtts {
namespace {

constexpr std::size_t kShortestRun = 3;  // that deflate can repeat
constexpr std::size_t kLongestRun = 258;

void put_be32(std::string& out, std::uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) out.push_back(static_cast<char>(value >> shift));
}

// Bits of a deflate stream: numbers begin with their lowest bit, codes with their highest.
class BitWriter {
 public:
  explicit BitWriter(std::string& out) : out_(out) {}

  void put(std::uint32_t bits, int count) {
    for (int bit = 0; bit < count; ++bit) {
      byte_ |= static_cast<std::uint8_t>((bits >> bit & 1U) << used_);
      if (++used_ == 8) flush();
    }
  }

  void put_code(std::uint32_t code, int count) {
    for (int bit = count - 1; bit >= 0; --bit) put(code >> bit & 1U, 1);
  }

  void flush() {
    if (used_ == 0) return;
    out_.push_back(static_cast<char>(byte_));
    byte_ = 0;
    used_ = 0;
  }

 private:
  std::string& out_;
  std::uint8_t byte_ = 0;
  int used_ = 0;  // bits of byte_
};

// The fixed codes of RFC 1951, 3.2.6: 0 to 255 are bytes, 256 the end, 257 to 285 lengths.
void put_symbol(BitWriter& bits, std::uint32_t symbol) {
  if (symbol < 144) return bits.put_code(0x30 + symbol, 8);
  if (symbol < 256) return bits.put_code(0x190 + symbol - 144, 9);
  if (symbol < 280) return bits.put_code(symbol - 256, 7);
  bits.put_code(0xc0 + symbol - 280, 8);
}

// "The last byte, `length` times more": a copy from one byte back.
void put_run(BitWriter& bits, std::size_t length) {
  struct LengthCode {
    std::uint32_t symbol;
    std::size_t least;
    int extra_bits;
  };
  static constexpr std::array<LengthCode, 8> kGroups = {{{257, 3, 0},
                                                         {261, 7, 0},
                                                         {265, 11, 1},
                                                         {269, 19, 2},
                                                         {273, 35, 3},
                                                         {277, 67, 4},
                                                         {281, 131, 5},
                                                         {285, 258, 0}}};
  const auto after = std::find_if(kGroups.begin() + 1, kGroups.end(),
                                  [length](const LengthCode& each) { return each.least > length; });
  const LengthCode& group = *(after - 1);
  const auto beyond = static_cast<std::uint32_t>(length - group.least);
  put_symbol(bits, group.symbol + (beyond >> group.extra_bits));
  bits.put(beyond, group.extra_bits);
  bits.put_code(0, 5);
}

std::uint32_t adler32(std::string_view bytes) {
  std::uint32_t low = 1;
  std::uint32_t high = 0;
  for (const char byte : bytes) {
    low = (low + static_cast<unsigned char>(byte)) % 65521;
    high = (high + low) % 65521;
  }
  return high << 16 | low;
}

void put_chunk(std::string& file, std::string_view name, std::string_view content) {
  put_be32(file, static_cast<std::uint32_t>(content.size()));
  std::string checked(name);
  checked += content;
  file += checked;
  put_be32(file, crc32(bytes_of(checked)));
}

// Colours between a few that grow lighter all the way, so that it reads in grey as well.
std::string palette() {
  using Colour = std::array<double, 3>;
  static constexpr std::array<Colour, 5> kStops = {
      {{4, 4, 30}, {66, 20, 110}, {176, 42, 98}, {240, 128, 40}, {255, 250, 170}}};
  std::string colours;
  for (int shade = 0; shade < 256; ++shade) {
    const double place = shade / 255.0 * (kStops.size() - 1);
    const auto stop = std::min(static_cast<std::size_t>(place), kStops.size() - 2);
    const double share = place - static_cast<double>(stop);
    for (std::size_t part = 0; part < 3; ++part) {
      const double value = kStops[stop][part] * (1 - share) + kStops[stop + 1][part] * share;
      colours.push_back(static_cast<char>(static_cast<unsigned char>(std::lround(value))));
    }
  }
  return colours;
}

// Each row as its difference to the one above: rows that repeat become zeros.
std::string filtered_rows(const Picture& picture) {
  constexpr char kUp = 2;
  const auto width = static_cast<std::size_t>(picture.width);
  std::string rows;
  for (std::size_t row = 0; row < static_cast<std::size_t>(picture.height); ++row) {
    rows.push_back(kUp);
    for (std::size_t column = 0; column < width; ++column) {
      const std::uint8_t here = picture.shades[row * width + column];
      const std::uint8_t above = row == 0 ? 0 : picture.shades[(row - 1) * width + column];
      rows.push_back(static_cast<char>(static_cast<std::uint8_t>(here - above)));
    }
  }
  return rows;
}

}  // namespace

namespace detail {

std::string zlib_stream(std::string_view bytes) {
  std::string stream{'\x78', '\x01'};
  BitWriter bits(stream);
  bits.put(1, 1);  // the last block
  bits.put(1, 2);  // with the fixed codes
  for (std::size_t at = 0; at < bytes.size();) {
    std::size_t run = 0;
    while (at > 0 && run < kLongestRun && at + run < bytes.size() &&
           bytes[at + run] == bytes[at - 1]) {
      ++run;
    }
    if (run >= kShortestRun) {
      put_run(bits, run);
      at += run;
    } else {
      put_symbol(bits, static_cast<unsigned char>(bytes[at]));
      ++at;
    }
  }
  put_symbol(bits, 256);
  bits.flush();
  put_be32(stream, adler32(bytes));
  return stream;
}

}  // namespace detail

std::string png_of(const Picture& picture) {
  MYXTTS_CHECK(picture.width > 0 && picture.height > 0 &&
                   std::ssize(picture.shades) == picture.width * picture.height,
               "a picture of {} x {} has {} shades", picture.width, picture.height,
               picture.shades.size());
  std::string file{"\x89PNG\r\n\x1a\n", 8};
  std::string header;
  put_be32(header, static_cast<std::uint32_t>(picture.width));
  put_be32(header, static_cast<std::uint32_t>(picture.height));
  header += std::string{"\x08\x03\x00\x00\x00", 5};  // 8 bits, a palette, the one way of the rest
  put_chunk(file, "IHDR", header);
  put_chunk(file, "PLTE", palette());
  put_chunk(file, "IDAT", detail::zlib_stream(filtered_rows(picture)));
  put_chunk(file, "IEND", "");
  return file;
}

}  // namespace myxtts
