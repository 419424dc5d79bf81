// SPDX-License-Identifier: Apache-2.0
#include "audio/sound_reader.h"

#include <fcntl.h>
#include <algorithm>
#include <cmath>
#include <system_error>

#include "audio/audio_file.h"
#include "audio/file_piece.h"
#include "audio/mp3_file.h"
#include "base/error.h"
#include "base/file_remedies.h"
#include "base/files.h"

namespace myxtts {
namespace {

constexpr std::int64_t kBlock = 65536;  // values decoded at a time
constexpr int kLowestRate = 1000;
constexpr int kHighestRate = 768000;

std::int64_t bytes_in(const std::filesystem::path& path) {
  std::error_code failed;
  const auto size = std::filesystem::file_size(path, failed);
  return failed ? 0 : static_cast<std::int64_t>(size);
}

void require_sound_file(const std::filesystem::path& path) {
  std::error_code failed;
  const auto status = std::filesystem::status(path, failed);
  if (!std::filesystem::exists(status)) {
    throw DataError(fmt::format("{}: there is no such file.", path.string()));
  }
  if (!std::filesystem::is_regular_file(status)) {
    throw DataError(fmt::format("{} is not a file; name an audio file.", path.string()));
  }
  if (bytes_in(path) == 0) {
    throw DataError(
        fmt::format("{} is empty: it has 0 bytes; record or copy it again.", path.string()));
  }
}

[[noreturn]] void refuse(const std::filesystem::path& path) {
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

}  // namespace

SoundReader::SoundReader(const std::filesystem::path& path) : path_(path) {
  require_sound_file(path_);
  open();
  if (channels_ < 1) {
    throw DataError(fmt::format("{} says that it has {} channels.", path_.string(), channels_));
  }
  if (sample_rate_ < kLowestRate || sample_rate_ > kHighestRate) {
    throw DataError(fmt::format("{} says that it has {} samples a second; from {} to {} are read.",
                                path_.string(), sample_rate_, kLowestRate, kHighestRate));
  }
  block_.resize(
      static_cast<std::size_t>(std::max(kBlock / channels_, std::int64_t{1}) * channels_));
}

// As libsndfile reads it, or as ffmpeg does where it is of such a format.
void SoundReader::open() {
  const OpenFile opened(::open(path_.c_str(), O_RDONLY | O_CLOEXEC));
  const auto format = opened.get() < 0 ? std::string_view() : ffmpeg_format_of(path_, opened.get());
  if (!format.empty()) {
    ffmpeg_ = std::make_unique<FfmpegStream>(path_, format);
    channels_ = ffmpeg_->channels();
    sample_rate_ = ffmpeg_->sample_rate();
    return;
  }
  file_ = open_by_sndfile();
  if (!file_) refuse(path_);
  channels_ = info_.channels;
  sample_rate_ = info_.samplerate;
}

SoundReader::SoundFile SoundReader::open_by_sndfile() {
  const auto& library = sndfile_library();
  const OpenFile opened(::open(path_.c_str(), O_RDONLY | O_CLOEXEC));
  if (opened.get() >= 0) {
    if (auto counted = with_frame_count(opened.get(), bytes_in(path_))) {
      return SoundFile(library.open_fd(counted->release(), SFM_READ, &info_, SF_TRUE));
    }
  }
  return SoundFile(library.open(path_.c_str(), SFM_READ, &info_));
}

std::optional<std::int64_t> SoundReader::promised_frames() const {
  if (ffmpeg_ || info_.frames <= 0 || info_.frames == SF_COUNT_MAX) return std::nullopt;
  return info_.frames;
}

std::span<const float> SoundReader::read() {
  const auto values = std::span<const float>(block_).first(read_block());
  if (values.empty()) {
    check_end();
    return values;
  }
  if (!std::ranges::all_of(values, [](float value) { return std::isfinite(value); })) {
    throw DataError(fmt::format("{} holds values that are not numbers.", path_.string()));
  }
  frames_read_ += std::ssize(values) / channels_;
  return values;
}

std::size_t SoundReader::read_block() {
  if (ffmpeg_) {
    const auto count = ffmpeg_->read(block_);
    return count - count % static_cast<std::size_t>(channels_);
  }
  const auto& library = sndfile_library();
  const auto frames =
      library.readf_float(file_.get(), block_.data(), std::ssize(block_) / channels_);
  return frames > 0 ? static_cast<std::size_t>(frames * channels_) : 0;
}

void SoundReader::check_end() const {
  if (!ffmpeg_) {
    const OpenFile opened(::open(path_.c_str(), O_RDONLY | O_CLOEXEC));
    if (const auto missing = opened.get() < 0 ? 0 : missing_bytes(opened.get(), bytes_in(path_));
        missing > 0) {
      throw DataError(
          fmt::format("{} was cut short: its header promises {} bytes more than there are.",
                      path_.string(), missing));
    }
    const auto& library = sndfile_library();
    if (library.error(file_.get()) != SF_ERR_NO_ERROR) {
      throw DataError(fmt::format("{} is damaged after {} samples: {}", path_.string(),
                                  frames_read_, library.strerror(file_.get())));
    }
  }
  if (frames_read_ == 0) {
    throw DataError(fmt::format("{} holds no sound: it has no samples.", path_.string()));
  }
  // A FLAC stream knows its length, unless it was sent while it was made; other compressed formats
  // only estimate it.
  const bool is_flac = !ffmpeg_ && (info_.format & SF_FORMAT_TYPEMASK) == SF_FORMAT_FLAC;
  if (is_flac && info_.frames != SF_COUNT_MAX && frames_read_ < info_.frames) {
    throw DataError(fmt::format("{} was cut short: its header promises {} samples and it has {}.",
                                path_.string(), info_.frames, frames_read_));
  }
}

}  // namespace myxtts
