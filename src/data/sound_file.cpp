// SPDX-License-Identifier: Apache-2.0
#include "data/sound_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "audio/cut_short.h"

namespace myxtts {
namespace {

constexpr int kLowestRate = 8'000;
constexpr int kHighestRate = 192'000;
constexpr int kMostChannels = 1'024;

std::optional<std::pair<SkipReason, std::string>> fault_of(const SF_INFO& info) {
  if (info.channels < 1 || info.channels > kMostChannels) {
    return std::pair(SkipReason::Unreadable, fmt::format("{} channels", info.channels));
  }
  if (info.samplerate < kLowestRate || info.samplerate > kHighestRate) {
    return std::pair(SkipReason::BadSampleRate,
                     fmt::format("{} Hz, from {} to {} Hz are read", info.samplerate, kLowestRate,
                                 kHighestRate));
  }
  return std::nullopt;
}

// The formats whose headers or last pages count their samples.
bool counts_samples(int file, const SF_INFO& info) {
  const int type = info.format & SF_FORMAT_TYPEMASK;
  return type != SF_FORMAT_MPEG || has_frame_count(file);
}

}  // namespace

std::variant<SoundFile, Skipped> SoundFile::open(const std::filesystem::path& path) {
  const auto skip = [&path](SkipReason reason, std::string measured) {
    return Skipped{.file = path, .reason = reason, .measured = std::move(measured)};
  };
  Descriptor descriptor(path);
  if (descriptor.get() < 0) {
    const auto reason =
        errno == ENOENT || errno == ENOTDIR ? SkipReason::MissingFile : SkipReason::Unreadable;
    return skip(reason, std::strerror(errno));
  }
  struct stat status {};
  if (::fstat(descriptor.get(), &status) != 0 || !S_ISREG(status.st_mode)) {
    return skip(SkipReason::Unreadable, "not a file");
  }
  if (status.st_size == 0) return skip(SkipReason::Empty, "0 bytes");
  if (const auto missing = missing_bytes(descriptor.get(), status.st_size); missing > 0) {
    return skip(SkipReason::Truncated,
                fmt::format("{} bytes less than the file itself promises", missing));
  }
  SF_INFO info{};
  // A descriptor of its own: libsndfile closes it when it refuses the file, whatever it was told.
  const int given = ::fcntl(descriptor.get(), F_DUPFD_CLOEXEC, 0);
  if (given < 0) return skip(SkipReason::Unreadable, std::strerror(errno));
  SNDFILE* opened = sndfile_library().open_fd(given, SFM_READ, &info, SF_TRUE);
  if (opened == nullptr) {
    // Why, libsndfile tells only through a variable that all threads share.
    return skip(SkipReason::Unreadable, "damaged, or not WAV, FLAC, OGG, Opus or MP3");
  }
  SoundFile sound(std::move(descriptor), opened, info);
  if (const auto fault = fault_of(info)) return skip(fault->first, fault->second);
  return sound;
}

SoundFile::Descriptor::Descriptor(const std::filesystem::path& path)
    : file_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {}

SoundFile::Descriptor::~Descriptor() {
  if (file_ >= 0) ::close(file_);
}

SoundFile::SoundFile(Descriptor descriptor, SNDFILE* file, const SF_INFO& info)
    : descriptor_(std::move(descriptor)),
      file_(file),
      info_(info),
      length_is_exact_(counts_samples(descriptor_.get(), info)) {}

bool SoundFile::fits_16_bits() const {
  switch (info_.format & SF_FORMAT_SUBMASK) {
    case SF_FORMAT_PCM_S8:
    case SF_FORMAT_PCM_U8:
    case SF_FORMAT_PCM_16:
    case SF_FORMAT_ULAW:
    case SF_FORMAT_ALAW:
    case SF_FORMAT_IMA_ADPCM:
    case SF_FORMAT_MS_ADPCM:
    case SF_FORMAT_GSM610:
      return true;
    default:
      return false;
  }
}

std::int64_t SoundFile::read(short* samples, std::int64_t frames) {
  return std::max<std::int64_t>(0, sndfile_library().readf_short(file_.get(), samples, frames));
}

std::int64_t SoundFile::read(float* samples, std::int64_t frames) {
  return std::max<std::int64_t>(0, sndfile_library().readf_float(file_.get(), samples, frames));
}

std::string SoundFile::damage() const {
  const auto& library = sndfile_library();
  if (library.error(file_.get()) == SF_ERR_NO_ERROR) return {};
  std::string sentence = library.strerror(file_.get());
  if (sentence.ends_with('.')) sentence.pop_back();
  return sentence;
}

}  // namespace myxtts
