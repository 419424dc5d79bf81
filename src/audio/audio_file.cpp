// SPDX-License-Identifier: Apache-2.0
#include "audio/audio_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <string>

#include "audio/cut_short.h"
#include "audio/sndfile_library.h"
#include "base/error.h"

namespace myxtts {
namespace {

constexpr std::int64_t kBlock = 65536;  // values decoded at a time
constexpr int kLowestRate = 1000;
constexpr int kHighestRate = 768000;

struct CloseFile {
  void operator()(SNDFILE* file) const { sndfile_library().close(file); }
};
using SoundFile = std::unique_ptr<SNDFILE, CloseFile>;

SoundFile open_for_reading(const std::filesystem::path& path, SF_INFO& info) {
  std::error_code failed;
  const auto status = std::filesystem::status(path, failed);
  if (!std::filesystem::exists(status)) {
    throw DataError(fmt::format("{}: there is no such file.", path.string()));
  }
  if (!std::filesystem::is_regular_file(status)) {
    throw DataError(fmt::format("{} is not a file; name an audio file.", path.string()));
  }
  const auto& library = sndfile_library();
  SoundFile file(library.open(path.c_str(), SFM_READ, &info));
  if (!file) {
    throw DataError(fmt::format("{} cannot be read as audio: {} WAV, FLAC, OGG, Opus and MP3 can.",
                                path.string(), library.strerror(nullptr)));
  }
  return file;
}

std::int64_t missing_bytes_of(const std::filesystem::path& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  std::error_code failed;
  const auto size = std::filesystem::file_size(path, failed);
  const auto missing = failed ? 0 : missing_bytes(file, static_cast<std::int64_t>(size));
  ::close(file);
  return missing;
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
  if ((info.format & SF_FORMAT_TYPEMASK) == SF_FORMAT_FLAC && audio.frames() < info.frames) {
    throw DataError(fmt::format("{} was cut short: its header promises {} samples and it has {}.",
                                path.string(), info.frames, audio.frames()));
  }
  if (!std::ranges::all_of(audio.samples, [](float value) { return std::isfinite(value); })) {
    throw DataError(fmt::format("{} holds values that are not numbers.", path.string()));
  }
}

std::vector<short> to_16_bits(std::span<const float> samples) {
  std::vector<short> values(samples.size());
  std::ranges::transform(samples, values.begin(), [](float value) {
    return static_cast<short>(std::lround(std::clamp(value, -1.0F, 1.0F) * 32767.0F));
  });
  return values;
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
