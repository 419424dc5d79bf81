// SPDX-License-Identifier: Apache-2.0
#include "audio/audio_file.h"

#include <fcntl.h>
#include <unistd.h>
#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "audio/file_piece.h"
#include "audio/mp3_file.h"
#include "audio/sndfile_library.h"
#include "audio/sound_reader.h"
#include "base/error.h"

namespace myxtts {
namespace {

// From here on a size stands for "unknown": writers to pipes put in the largest value, or nearly.
constexpr std::uint32_t kUnknownSize = 0x7fff0000U;
constexpr std::int64_t kLargestPage = 66'000;  // of an OGG, and a little more

std::int64_t missing_of_wav(int file, std::int64_t size) {
  constexpr int kMostChunks = 1000;
  std::int64_t at = 12;
  for (int chunk = 0; chunk < kMostChunks && at + 8 <= size; ++chunk) {
    const FilePiece head(file, at, 8);
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
    const FilePiece piece(file, from, 4096);
    const std::string_view text = piece.text(0, piece.size());
    if (const auto found = text.rfind("OggS"); found != text.npos) {
      last = from + static_cast<std::int64_t>(found);
    }
  }
  if (last < 0) return 0;
  const FilePiece page(file, last, 27 + 255);
  const std::size_t segments = page.byte(26);
  std::int64_t end = last + 27 + static_cast<std::int64_t>(segments);
  for (std::size_t index = 0; index < segments; ++index) end += page.byte(27 + index);
  return std::max<std::int64_t>(0, end - size);
}

}  // namespace

std::int64_t missing_bytes(int file, std::int64_t size) {
  const FilePiece head(file, 0, 12);
  if (head.text(0, 4) == "RIFF" && head.text(8, 4) == "WAVE") return missing_of_wav(file, size);
  if (head.text(0, 4) == "OggS") return missing_of_ogg(file, size);
  if (head.text(0, 3) == "ID3" || head.byte(0) == 0xff) return missing_bytes_of_mp3(file, size);
  return 0;
}

namespace {

using CloseFile = decltype([](SNDFILE* file) { sndfile_library().close(file); });
using SoundFile = std::unique_ptr<SNDFILE, CloseFile>;

}  // namespace

AudioData read_audio(const std::filesystem::path& path) {
  SoundReader reader(path);
  AudioData audio{
      .samples = {}, .channels = reader.channels(), .sample_rate = reader.sample_rate()};
  for (auto block = reader.read(); !block.empty(); block = reader.read()) {
    if (std::ssize(audio.samples) + std::ssize(block) > kMaxAudioSamples) {
      throw DataError(fmt::format("{} holds more than {} samples; cut it into shorter clips.",
                                  path.string(), kMaxAudioSamples));
    }
    audio.samples.insert(audio.samples.end(), block.begin(), block.end());
  }
  return audio;
}

std::vector<short> to_16_bits(std::span<const float> samples) {
  std::vector<short> values(samples.size());
  std::ranges::transform(samples, values.begin(), [](float value) {
    return static_cast<short>(std::lround(std::clamp(value, -1.0F, 1.0F) * 32767.0F));
  });
  return values;
}

void write_wav(const std::filesystem::path& path, std::span<const float> samples,
               std::int64_t sample_rate) {
  const auto& library = sndfile_library();
  const auto values = to_16_bits(samples);
  auto unfinished = path;
  unfinished += fmt::format(".{}.part", getpid());

  SF_INFO info{};
  info.samplerate = static_cast<int>(sample_rate);
  info.channels = 1;
  info.format = SF_FORMAT_WAV | SF_FORMAT_PCM_16;
  SoundFile file(library.open(unfinished.c_str(), SFM_WRITE, &info));
  if (!file) {
    throw DataError(
        fmt::format("{} cannot be written: {}", path.string(), library.strerror(nullptr)));
  }
  const auto count = static_cast<sf_count_t>(values.size());
  const bool written = library.writef_short(file.get(), values.data(), count) == count;
  const bool closed = library.close(file.release()) == 0;
  std::error_code failed;
  if (written && closed) std::filesystem::rename(unfinished, path, failed);
  if (written && closed && !failed) return;
  std::filesystem::remove(unfinished, failed);
  throw DataError(fmt::format("{} cannot be written; is the disk full?", path.string()));
}

}  // namespace myxtts
