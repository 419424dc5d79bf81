// SPDX-License-Identifier: Apache-2.0
#include "audio/mp3_file.h"

#include <unistd.h>
#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "audio/file_piece.h"
#include "base/atomic_file.h"

namespace myxtts {
namespace {

// Where the first frame of an MP3 starts: behind the tags of titles and pictures.
std::int64_t first_frame(int file) {
  std::int64_t at = 0;
  for (int tags = 0; tags < 4; ++tags) {
    const FilePiece head(file, at, 10);
    if (head.text(0, 3) != "ID3") break;
    at += 10 + (head.byte(6) << 21U | head.byte(7) << 14U | head.byte(8) << 7U | head.byte(9));
  }
  return at;
}

// Between a frame's header and its sound, by the second and the fourth byte of the header.
std::size_t side_bytes_of(char second, char fourth) {
  const bool is_first_version = (static_cast<unsigned char>(second) & 0x18U) == 0x18U;
  const bool is_mono = (static_cast<unsigned char>(fourth) & 0xc0U) == 0xc0U;
  return is_first_version ? (is_mono ? 17 : 32) : (is_mono ? 9 : 17);
}

// Where the first frame holds what the encoder wrote in place of its sound; nothing: it wrote none.
std::optional<std::size_t> encoder_tag(const FilePiece& frame) {
  if (frame.byte(0) != 0xff || (frame.byte(1) & 0xe0U) != 0xe0U) return std::nullopt;
  const std::size_t at =
      4 + side_bytes_of(static_cast<char>(frame.byte(1)), static_cast<char>(frame.byte(3)));
  const std::string_view name = frame.text(at, 4);
  return name == "Xing" || name == "Info" ? std::optional(at) : std::nullopt;
}

bool counts_frames(const FilePiece& frame, std::size_t tag) {
  return (frame.big_endian(tag + 4) & 1U) != 0;
}

}  // namespace

std::int64_t missing_bytes_of_mp3(int file, std::int64_t size) {
  const std::int64_t first = first_frame(file);
  const FilePiece frame(file, first, 64);
  const auto tag = encoder_tag(frame);
  if (!tag || (frame.big_endian(*tag + 4) & 2U) == 0) return 0;
  const std::uint32_t bytes = frame.big_endian(*tag + 8 + (counts_frames(frame, *tag) ? 4 : 0));
  return bytes == 0 ? 0 : std::max<std::int64_t>(0, first + bytes - size);
}

bool has_frame_count(int file) {
  const FilePiece frame(file, first_frame(file), 64);
  const auto tag = encoder_tag(frame);
  return tag && counts_frames(frame, *tag);
}

namespace {

// The four bytes that each frame begins with, as far as they say how long it is. Layer III alone.
class FrameHeader {
 public:
  explicit FrameHeader(const FilePiece& bytes) : bytes_(bytes.big_endian(0)) {}

  bool is_valid() const {
    return bytes_ >> 21U == 0x7ffU && version() != 1 && layer() == 1 && rate_index() != 0 &&
           rate_index() != 15 && sampling_index() != 3;
  }

  // Bytes of the frame, and of one like it at another bit rate.
  std::int64_t size() const { return size_at(kilobits()[rate_index()]) + padding(); }
  std::int64_t size_at(std::int64_t kilobits_a_second) const {
    constexpr std::array<std::int64_t, 3> kSampling = {44'100, 48'000, 32'000};
    const std::int64_t sampling = kSampling[sampling_index()] >> (version() == 3   ? 0
                                                                  : version() == 2 ? 1
                                                                                   : 2);
    return (is_first_version() ? 144 : 72) * kilobits_a_second * 1000 / sampling;
  }

  // Two frames of one bit rate have the same.
  std::uint32_t rate_index() const { return bytes_ >> 12U & 15U; }

  // The same kind of frame at 64 kbit/s, without padding and checksum.
  std::array<char, 4> plain() const {
    const std::uint32_t index = is_first_version() ? 5 : 8;
    const std::uint32_t bytes = (bytes_ & ~0xf200U) | 1U << 16U | index << 12U;
    return {static_cast<char>(bytes >> 24U), static_cast<char>(bytes >> 16U),
            static_cast<char>(bytes >> 8U), static_cast<char>(bytes)};
  }
  static constexpr std::int64_t kPlainKilobits = 64;

 private:
  using Kilobits = std::array<std::int64_t, 15>;

  std::uint32_t version() const { return bytes_ >> 19U & 3U; }  // 3: 1, 2: 2, 0: 2.5
  std::uint32_t layer() const { return bytes_ >> 17U & 3U; }
  std::uint32_t sampling_index() const { return bytes_ >> 10U & 3U; }
  std::int64_t padding() const { return bytes_ >> 9U & 1U; }
  bool is_first_version() const { return version() == 3; }
  const Kilobits& kilobits() const {
    static constexpr Kilobits kFirst = {0,   32,  40,  48,  56,  64,  80, 96,
                                        112, 128, 160, 192, 224, 256, 320};
    static constexpr Kilobits kSecond = {0,  8,  16, 24,  32,  40,  48, 56,
                                         64, 80, 96, 112, 128, 144, 160};
    return is_first_version() ? kFirst : kSecond;
  }

  std::uint32_t bytes_;
};

// Frames from `at` on: as many as there are where all of the file is frames, and else more.
struct FrameCount {
  std::int64_t frames = 0;
  bool is_of_one_rate = true;  // to the end of the file, a tag of 128 bytes aside
};

FrameCount count_frames(int file, std::int64_t at, std::int64_t size) {
  constexpr std::int64_t kSmallest = 24;  // bytes
  constexpr std::int64_t kClosingTag = 128;
  const FrameHeader first(FilePiece(file, at, 4));
  FrameCount count;
  while (at + 4 <= size) {
    const FrameHeader header(FilePiece(file, at, 4));
    if (!header.is_valid()) break;
    count.is_of_one_rate = count.is_of_one_rate && header.rate_index() == first.rate_index();
    ++count.frames;
    at += header.size();
  }
  const std::int64_t rest = std::max<std::int64_t>(0, size - at);
  if (rest > kClosingTag) count.is_of_one_rate = false;
  count.frames += rest / kSmallest;
  return count;
}

// A frame without sound, with nothing in its tag but the count.
std::string frame_with_count(const FrameHeader& like, std::int64_t frames) {
  std::string frame(static_cast<std::size_t>(like.size_at(FrameHeader::kPlainKilobits)), '\0');
  std::ranges::copy(like.plain(), frame.begin());
  const std::size_t tag = 4 + side_bytes_of(frame[1], frame[3]);
  frame.replace(tag, 8, std::string("Xing\0\0\0\1", 8));
  for (std::size_t i = 0; i < 4; ++i) {
    frame[tag + 8 + i] = static_cast<char>(frames >> (24 - 8 * static_cast<int>(i)));
  }
  return frame;
}

}  // namespace

std::optional<OpenFile> with_frame_count(int file, std::int64_t size) {
  constexpr std::int64_t kLargestCopy = std::int64_t{1}
                                        << 30;  // longer than any sound that is read
  const std::int64_t first = first_frame(file);
  const FrameHeader header(FilePiece(file, first, 4));
  if (!header.is_valid() || has_frame_count(file) || size > kLargestCopy) return std::nullopt;
  const FrameCount count = count_frames(file, first, size);
  if (count.is_of_one_rate) return std::nullopt;
  OpenFile copy = memory_file("mp3");
  const auto add = [&copy](std::string_view bytes) {
    detail::write_all(copy.get(), std::as_bytes(std::span(bytes)), "an MP3 in memory");
  };
  add(frame_with_count(header, count.frames));
  for (std::int64_t at = first; at < size;) {
    const FilePiece piece(file, at, 4096);
    if (piece.size() == 0) break;
    add(piece.text(0, piece.size()));
    at += static_cast<std::int64_t>(piece.size());
  }
  ::lseek(copy.get(), 0, SEEK_SET);
  return copy;
}

}  // namespace myxtts
