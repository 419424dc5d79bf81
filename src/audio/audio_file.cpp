// SPDX-License-Identifier: Apache-2.0
#include "audio/audio_file.h"

#include <fcntl.h>
#include <unistd.h>
#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "audio/ffmpeg.h"
#include "audio/file_piece.h"
#include "audio/mp3_file.h"
#include "audio/sndfile_library.h"
#include "base/error.h"
#include "base/file_remedies.h"
#include "base/files.h"

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

constexpr std::int64_t kBlock = 65536;  // values decoded at a time
constexpr int kLowestRate = 1000;
constexpr int kHighestRate = 768000;

using CloseFile = decltype([](SNDFILE* file) { sndfile_library().close(file); });
using SoundFile = std::unique_ptr<SNDFILE, CloseFile>;

// The file as libsndfile reads it, or as ffmpeg does where it is of such a format.
SoundFile open_sound(const std::filesystem::path& path, SF_INFO& info) {
  const auto& library = sndfile_library();
  const OpenFile opened(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (opened.get() < 0) return SoundFile(library.open(path.c_str(), SFM_READ, &info));
  const auto format = ffmpeg_format_of(path, opened.get());
  if (format.empty()) {
    std::error_code failed;
    const auto size = static_cast<std::int64_t>(std::filesystem::file_size(path, failed));
    if (auto counted = with_frame_count(opened.get(), failed ? 0 : size)) {
      return SoundFile(library.open_fd(counted->release(), SFM_READ, &info, SF_TRUE));
    }
    return SoundFile(library.open(path.c_str(), SFM_READ, &info));
  }
  auto decoded = decode_with_ffmpeg(path, format, kMaxAudioSamples * std::int64_t{sizeof(float)});
  if (const auto* fault = std::get_if<FfmpegFault>(&decoded)) {
    throw DataError(fmt::format("{} is {}.", path.string(), fault->what));
  }
  return SoundFile(
      library.open_fd(std::get<OpenFile>(decoded).release(), SFM_READ, &info, SF_TRUE));
}

SoundFile open_for_reading(const std::filesystem::path& path, SF_INFO& info) {
  std::error_code failed;
  const auto status = std::filesystem::status(path, failed);
  if (!std::filesystem::exists(status)) {
    throw DataError(fmt::format("{}: there is no such file.", path.string()));
  }
  if (!std::filesystem::is_regular_file(status)) {
    throw DataError(fmt::format("{} is not a file; name an audio file.", path.string()));
  }
  if (std::filesystem::file_size(path, failed) == 0) {
    throw DataError(
        fmt::format("{} is empty: it has 0 bytes; record or copy it again.", path.string()));
  }
  SoundFile file = open_sound(path, info);
  if (!file) {
    const OpenFile opened(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    const FilePiece start(opened.get(), 0, 200);
    if (const auto what = placeholder_of(start.text(0, start.size())); !what.empty()) {
      throw DataError(fmt::format("{} is {}.", path.string(), what));
    }
    throw DataError(
        fmt::format("{} cannot be read as audio: {} WAV, FLAC, OGG, Opus and MP3 can; M4A, "
                    "AAC and WebM through ffmpeg.",
                    path.string(), sndfile_library().strerror(nullptr)));
  }
  return file;
}

std::int64_t missing_bytes_of(const std::filesystem::path& path) {
  const OpenFile opened(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (opened.get() < 0) return 0;
  std::error_code failed;
  const auto size = std::filesystem::file_size(path, failed);
  return failed ? 0 : missing_bytes(opened.get(), static_cast<std::int64_t>(size));
}

void check_format(const std::filesystem::path& path, const SF_INFO& info) {
  if (info.channels < 1) {
    throw DataError(fmt::format("{} says that it has {} channels.", path.string(), info.channels));
  }
  if (info.samplerate < kLowestRate || info.samplerate > kHighestRate) {
    throw DataError(fmt::format("{} says that it has {} samples a second; from {} to {} are read.",
                                path.string(), info.samplerate, kLowestRate, kHighestRate));
  }
  if (const auto missing = missing_bytes_of(path); missing > 0) {
    throw DataError(
        fmt::format("{} was cut short: its header promises {} bytes more than there are.",
                    path.string(), missing));
  }
}

// Grows with what is decoded: the header's own count may be a lie.
std::vector<float> decode(SNDFILE* file, const std::filesystem::path& path, std::int64_t channels) {
  const auto& library = sndfile_library();
  std::vector<float> samples;
  std::vector<float> block(
      static_cast<std::size_t>(std::max(kBlock / channels, std::int64_t{1}) * channels));
  const auto block_frames = static_cast<sf_count_t>(block.size()) / channels;
  while (const auto frames = library.readf_float(file, block.data(), block_frames)) {
    if (frames < 0) break;
    const auto count = frames * channels;
    if (static_cast<std::int64_t>(samples.size()) + count > kMaxAudioSamples) {
      throw DataError(fmt::format("{} holds more than {} samples; cut it into shorter clips.",
                                  path.string(), kMaxAudioSamples));
    }
    samples.insert(samples.end(), block.begin(), block.begin() + count);
  }
  if (library.error(file) != SF_ERR_NO_ERROR) {
    throw DataError(fmt::format("{} is damaged after {} samples: {}", path.string(),
                                static_cast<std::int64_t>(samples.size()) / channels,
                                library.strerror(file)));
  }
  return samples;
}

void check_samples(const std::filesystem::path& path, const AudioData& audio, const SF_INFO& info) {
  if (audio.samples.empty()) {
    throw DataError(fmt::format("{} holds no sound: it has no samples.", path.string()));
  }
  // A FLAC stream knows its length; other compressed formats only estimate it.
  // A FLAC that was sent while it was made does not know its length.
  if ((info.format & SF_FORMAT_TYPEMASK) == SF_FORMAT_FLAC && info.frames != SF_COUNT_MAX &&
      audio.frames() < info.frames) {
    throw DataError(fmt::format("{} was cut short: its header promises {} samples and it has {}.",
                                path.string(), info.frames, audio.frames()));
  }
  if (!std::ranges::all_of(audio.samples, [](float value) { return std::isfinite(value); })) {
    throw DataError(fmt::format("{} holds values that are not numbers.", path.string()));
  }
}

}  // namespace

AudioData read_audio(const std::filesystem::path& path) {
  SF_INFO info{};
  const auto file = open_for_reading(path, info);
  check_format(path, info);
  AudioData audio{.samples = decode(file.get(), path, info.channels),
                  .channels = info.channels,
                  .sample_rate = info.samplerate};
  check_samples(path, audio, info);
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
