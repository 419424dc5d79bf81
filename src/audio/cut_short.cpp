// SPDX-License-Identifier: Apache-2.0
#include "audio/cut_short.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

namespace myxtts {
namespace {

// From here on a size stands for "unknown": writers to pipes put in the largest value, or nearly.
constexpr std::uint32_t kUnknownSize = 0x7fff0000U;
constexpr std::int64_t kLargestPage = 66'000;  // of an OGG, and a little more

// Some bytes of the file; fewer than asked for at its end.
class Piece {
 public:
  Piece(int file, std::int64_t at, std::size_t count) {
    const auto wanted = std::min(count, bytes_.size());
    const auto got = ::pread(file, bytes_.data(), wanted, static_cast<off_t>(at));
    size_ = got > 0 ? static_cast<std::size_t>(got) : 0;
  }

  std::size_t size() const { return size_; }
  std::string_view text(std::size_t at, std::size_t count) const {
    return at < size_ ? std::string_view(bytes_.data() + at, std::min(count, size_ - at))
                      : std::string_view();
  }
  std::uint32_t byte(std::size_t at) const {
    return at < size_ ? static_cast<unsigned char>(bytes_[at]) : 0U;
  }
  std::uint32_t little_endian(std::size_t at) const {
    return byte(at) | byte(at + 1) << 8U | byte(at + 2) << 16U | byte(at + 3) << 24U;
  }
  std::uint32_t big_endian(std::size_t at) const {
    return byte(at + 3) | byte(at + 2) << 8U | byte(at + 1) << 16U | byte(at) << 24U;
  }

 private:
  std::array<char, 4096> bytes_;
  std::size_t size_ = 0;
};

std::int64_t missing_of_wav(int file, std::int64_t size) {
  constexpr int kMostChunks = 1000;
  std::int64_t at = 12;
  for (int chunk = 0; chunk < kMostChunks && at + 8 <= size; ++chunk) {
    const Piece head(file, at, 8);
    const std::uint32_t length = head.little_endian(4);
    const std::int64_t next = at + 8 + length;
    if (head.text(0, 4) == "data") {
      return length < kUnknownSize && next > size ? next - size : 0;
    }
    at = next + (length & 1U);  // chunks start at even places
  }
  return 0;
}

// The last page stands whole at the end, or the file was cut within it.
std::int64_t missing_of_ogg(int file, std::int64_t size) {
  const std::int64_t start = std::max<std::int64_t>(0, size - kLargestPage);
  std::int64_t last = -1;
  for (std::int64_t from = start; from < size; from += 4096 - 3) {
    const Piece piece(file, from, 4096);
    const std::string_view text = piece.text(0, piece.size());
    if (const auto found = text.rfind("OggS"); found != text.npos) {
      last = from + static_cast<std::int64_t>(found);
    }
  }
  if (last < 0) return 0;
  const Piece page(file, last, 27 + 255);
  const std::size_t segments = page.byte(26);
  std::int64_t end = last + 27 + static_cast<std::int64_t>(segments);
  for (std::size_t index = 0; index < segments; ++index) end += page.byte(27 + index);
  return std::max<std::int64_t>(0, end - size);
}

// Where the first frame of an MP3 starts: behind the tags of titles and pictures.
std::int64_t first_frame(int file) {
  std::int64_t at = 0;
  for (int tags = 0; tags < 4; ++tags) {
    const Piece head(file, at, 10);
    if (head.text(0, 3) != "ID3") break;
    at += 10 + (head.byte(6) << 21U | head.byte(7) << 14U | head.byte(8) << 7U | head.byte(9));
  }
  return at;
}

// What the encoder wrote in place of the first frame's sound.
struct EncoderTag {
  std::int64_t frame = 0;  // where its frame starts
  bool counts_frames = false;
  std::uint32_t bytes = 0;  // of the stream; 0: not said
};

std::optional<EncoderTag> encoder_tag(int file) {
  EncoderTag tag{.frame = first_frame(file)};
  const Piece frame(file, tag.frame, 64);
  if (frame.byte(0) != 0xff || (frame.byte(1) & 0xe0U) != 0xe0U) return std::nullopt;
  const bool is_first_version = (frame.byte(1) & 0x18U) == 0x18U;
  const bool is_mono = (frame.byte(3) & 0xc0U) == 0xc0U;
  const std::size_t side_bytes = is_first_version ? (is_mono ? 17 : 32) : (is_mono ? 9 : 17);
  const std::size_t at = 4 + side_bytes;
  const std::string_view name = frame.text(at, 4);
  if (name != "Xing" && name != "Info") return std::nullopt;
  const std::uint32_t flags = frame.big_endian(at + 4);
  tag.counts_frames = (flags & 1U) != 0;
  if ((flags & 2U) != 0) tag.bytes = frame.big_endian(at + 8 + (tag.counts_frames ? 4 : 0));
  return tag;
}

std::int64_t missing_of_mp3(int file, std::int64_t size) {
  const auto tag = encoder_tag(file);
  if (!tag || tag->bytes == 0) return 0;
  return std::max<std::int64_t>(0, tag->frame + tag->bytes - size);
}

}  // namespace

std::int64_t missing_bytes(int file, std::int64_t size) {
  const Piece head(file, 0, 12);
  if (head.text(0, 4) == "RIFF" && head.text(8, 4) == "WAVE") return missing_of_wav(file, size);
  if (head.text(0, 4) == "OggS") return missing_of_ogg(file, size);
  if (head.text(0, 3) == "ID3" || head.byte(0) == 0xff) return missing_of_mp3(file, size);
  return 0;
}

bool has_frame_count(int file) {
  const auto tag = encoder_tag(file);
  return tag && tag->counts_frames;
}

}  // namespace myxtts
