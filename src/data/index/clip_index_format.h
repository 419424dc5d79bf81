// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

namespace myxtts::index_format {

static_assert(std::endian::native == std::endian::little, "a big-endian machine must swap here");

// Note [Format of an index]
//   Header
//   Row[clips]
//   Text[names]          speakers, languages and manifests, each once
//   WitnessRow[witnesses]
//   SkippedRow[skipped]
//   strings              bytes that the tables above point into
//
// Numbers are little-endian and every table starts at a multiple of 8. Whoever changes anything
// here, or what is stored of a clip, increments kVersion: old files are then made again.
inline constexpr std::array<char, 8> kMagic = {'m', 'y', 'x', 't', 't', 's', 'I', 'X'};
inline constexpr std::uint32_t kVersion = 1;

struct Header {
  std::array<char, 8> magic = kMagic;
  std::uint32_t version = kVersion;
  std::uint32_t header_bytes = 0;
  std::uint64_t key = 0;
  std::uint64_t clips = 0;
  std::uint64_t names = 0;
  std::uint64_t witnesses = 0;
  std::uint64_t skipped = 0;
  std::uint64_t string_bytes = 0;
  std::uint64_t body_checksum = 0;    // of everything after the header
  std::uint64_t header_checksum = 0;  // of the header before this field
};

// A piece of `strings`.
struct Text {
  std::uint64_t at = 0;
  std::uint64_t bytes = 0;
};

struct Row {
  std::uint64_t strings = 0;  // where the clip's own begin: audio, text, and maybe id
  std::uint32_t audio_bytes = 0;
  std::uint32_t text_bytes = 0;
  std::uint32_t id_at = 0;  // after `strings`: most ids are a part of the path
  std::uint32_t id_bytes = 0;
  std::int64_t file_size = 0;
  std::int64_t file_changed_ns = 0;
  std::uint64_t source_frames = 0;
  std::uint32_t source_rate = 0;
  std::uint32_t text_tokens = 0;
  std::uint32_t speaker = 0;  // these three are places in names
  std::uint32_t language = 0;
  std::uint32_t manifest = 0;
  std::uint32_t line = 0;
};

struct WitnessRow {
  Text path;
  std::int64_t size = 0;
  std::int64_t changed_ns = 0;
};

struct SkippedRow {
  Text file;
  Text measured;
  std::int64_t file_size = 0;
  std::int64_t file_changed_ns = 0;
  std::uint32_t manifest = 0;  // a place in names
  std::uint32_t reason = 0;
  std::uint64_t line = 0;
};

template <typename T>
inline constexpr bool kIsPlain =
    std::is_trivially_copyable_v<T>&& std::has_unique_object_representations_v<T> &&
    sizeof(T) % 8 == 0;
static_assert(kIsPlain<Header> && kIsPlain<Text> && kIsPlain<Row> && kIsPlain<WitnessRow> &&
              kIsPlain<SkippedRow>);
static_assert(sizeof(Header) == 80 && sizeof(Row) == 72);

// The bytes of a header that its checksum is of.
inline constexpr std::size_t kCheckedHeaderBytes = offsetof(Header, header_checksum);

template <typename T>
std::span<const std::byte> bytes_of_value(const T& value) {
  return std::as_bytes(std::span(&value, 1));
}

}  // namespace myxtts::index_format
