// SPDX-License-Identifier: Apache-2.0
#include "audio/wav_length.h"

#include <array>
#include <cstring>
#include <fstream>
#include <string_view>

namespace myxtts {
namespace {

// From here on a size stands for "unknown": writers to pipes put in the largest value, or nearly.
constexpr std::uint32_t kUnknownSize = 0x7fff0000U;

struct Chunk {
  std::array<char, 4> name{};
  std::uint32_t size = 0;

  bool is(std::string_view wanted) const { return std::string_view(name.data(), 4) == wanted; }
};

bool read_chunk(std::istream& file, Chunk& chunk) {
  std::array<unsigned char, 4> size{};
  if (!file.read(chunk.name.data(), 4)) return false;
  if (!file.read(reinterpret_cast<char*>(size.data()), 4)) return false;
  chunk.size = static_cast<std::uint32_t>(size[0]) | static_cast<std::uint32_t>(size[1]) << 8 |
               static_cast<std::uint32_t>(size[2]) << 16 |
               static_cast<std::uint32_t>(size[3]) << 24;
  return true;
}

}  // namespace

std::int64_t missing_wav_bytes(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  Chunk chunk;
  std::array<char, 4> form{};
  if (!read_chunk(file, chunk) || !chunk.is("RIFF")) return 0;
  if (!file.read(form.data(), 4) || std::string_view(form.data(), 4) != "WAVE") return 0;

  std::error_code failed;
  const auto end = static_cast<std::int64_t>(std::filesystem::file_size(path, failed));
  if (failed) return 0;
  while (read_chunk(file, chunk)) {
    const auto next = static_cast<std::int64_t>(file.tellg()) + chunk.size;
    if (chunk.is("data")) return chunk.size < kUnknownSize && next > end ? next - end : 0;
    file.seekg(next + (chunk.size & 1U));  // chunks start at even places
  }
  return 0;
}

}  // namespace myxtts
