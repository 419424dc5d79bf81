// SPDX-License-Identifier: Apache-2.0
#include "data/clip_decoder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "audio/audio_file.h"
#include "audio/ffmpeg.h"
#include "audio/file_piece.h"
#include "audio/mp3_file.h"
#include "audio/sndfile_library.h"
#include "base/error.h"
#include "base/file_remedies.h"
#include "data/sample_blocks.h"
#include "data/skipped.h"

namespace myxtts {
namespace {

// A sound file open for reading, whose header makes sense and promises nothing that is not there.
// One thread at a time.
class SoundFile {
 public:
  // What is wrong with the file comes back as a value. Throws DataError only where libsndfile
  // itself is missing, or this process may open no more files.
  static std::variant<SoundFile, Skipped> open(const std::filesystem::path& path);

  std::int64_t sample_rate() const { return info_.samplerate; }
  std::int64_t channels() const { return info_.channels; }

  // Samples of one channel, as the header says. Only decoding shows whether that is true, but where
  // length_is_exact() decoding a whole file gives exactly these.
  std::int64_t promised_frames() const { return info_.frames; }
  bool length_is_exact() const { return length_is_exact_; }

  // Whether 16 bits hold every value of the file as it stands.
  bool fits_16_bits() const;

  // Decodes on, up to `frames` of all channels; fewer only at the end.
  std::int64_t read(short* samples, std::int64_t frames);
  std::int64_t read(float* samples, std::int64_t frames);

  // What stopped the decoding before the end, in words; empty when nothing did.
  std::string damage() const;

 private:
  // An open file of the operating system.
  class Descriptor {
   public:
    explicit Descriptor(const std::filesystem::path& path);
    explicit Descriptor(int file) : file_(file) {}
    Descriptor(Descriptor&& other) noexcept : file_(std::exchange(other.file_, -1)) {}
    Descriptor& operator=(Descriptor&&) = delete;
    ~Descriptor();

    int get() const { return file_; }

   private:
    int file_;
  };
  using Close = decltype([](SNDFILE* file) { sndfile_library().close(file); });

  SoundFile(Descriptor descriptor, SNDFILE* file, const SF_INFO& info);

  static std::variant<SoundFile, Skipped> read_by_sndfile(const std::filesystem::path& path,
                                                          Descriptor descriptor);

  Descriptor descriptor_;  // read by file_, and so closed after it
  std::unique_ptr<SNDFILE, Close> file_;
  SF_INFO info_;
  bool length_is_exact_;
};

constexpr int kLowestRate = 8'000;
constexpr int kHighestRate = 192'000;
constexpr int kMostChannels = 1'024;
constexpr std::int64_t kMostDecodedBytes = std::int64_t{1} << 28;  // by ffmpeg: 4 a sample

std::optional<std::pair<SkipReason, std::string>> format_fault(const SF_INFO& info) {
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

// The formats whose headers or last pages count their samples. A FLAC that was sent while it was
// made does not.
bool counts_samples(int file, const SF_INFO& info) {
  const int type = info.format & SF_FORMAT_TYPEMASK;
  return info.frames != SF_COUNT_MAX && (type != SF_FORMAT_MPEG || has_frame_count(file));
}

// The clip is as good as ever where the process may open no more files: to leave it out would be to
// train on other data.
std::string reason_of_clip(const std::filesystem::path& path) {
  const std::string reason = std::strerror(errno);
  if (errno != EMFILE && errno != ENFILE) return reason;
  throw DataError(fmt::format("{} cannot be opened: {}.", path.string(), reason));
}

std::variant<SoundFile, Skipped> SoundFile::open(const std::filesystem::path& path) {
  const auto skip = [&path](SkipReason reason, std::string measured) {
    return Skipped{.file = path, .reason = reason, .measured = std::move(measured)};
  };
  Descriptor descriptor(path);
  if (descriptor.get() < 0) {
    const auto reason =
        errno == ENOENT || errno == ENOTDIR ? SkipReason::MissingFile : SkipReason::Unreadable;
    return skip(reason, reason_of_clip(path));
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
  const auto format = ffmpeg_format_of(path, descriptor.get());
  if (format.empty()) {
    auto counted = with_frame_count(descriptor.get(), status.st_size);
    auto read =
        read_by_sndfile(path, counted ? Descriptor(counted->release()) : std::move(descriptor));
    if (auto* sound = std::get_if<SoundFile>(&read); sound != nullptr && counted) {
      sound->length_is_exact_ = false;  // it was counted by us, and generously
    }
    return read;
  }
  auto decoded = decode_with_ffmpeg(path, format, kMostDecodedBytes);
  if (const auto* fault = std::get_if<FfmpegFault>(&decoded)) {
    return skip(fault->is_too_long ? SkipReason::AudioTooLong : SkipReason::Unreadable,
                fault->what);
  }
  return read_by_sndfile(path, Descriptor(std::get<OpenFile>(decoded).release()));
}

std::variant<SoundFile, Skipped> SoundFile::read_by_sndfile(const std::filesystem::path& path,
                                                            Descriptor descriptor) {
  const auto skip = [&path](SkipReason reason, std::string measured) {
    return Skipped{.file = path, .reason = reason, .measured = std::move(measured)};
  };
  SF_INFO info{};
  // A descriptor of its own: libsndfile closes it when it refuses the file, whatever its argument
  // says.
  const int given = ::fcntl(descriptor.get(), F_DUPFD_CLOEXEC, 0);
  if (given < 0) return skip(SkipReason::Unreadable, reason_of_clip(path));
  SNDFILE* opened = sndfile_library().open_fd(given, SFM_READ, &info, SF_TRUE);
  if (opened == nullptr) {
    const FilePiece start(descriptor.get(), 0, 200);
    if (auto what = placeholder_of(start.text(0, start.size())); !what.empty()) {
      return skip(SkipReason::Unreadable, std::move(what));
    }
    // libsndfile reports the reason only in a variable that all threads share.
    return skip(SkipReason::Unreadable, "damaged, or not WAV, FLAC, OGG, Opus or MP3");
  }
  SoundFile sound(std::move(descriptor), opened, info);
  if (const auto fault = format_fault(info)) return skip(fault->first, fault->second);
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

constexpr std::size_t kBlock = 32'768;                       // values decoded at a time
constexpr std::int64_t kTrustedFrames = 4'000'000;           // room made for a header's word alone
constexpr std::int64_t kMostFrames = std::int64_t{1} << 26;  // 128 MiB; 50 minutes at 22,050 Hz
constexpr int kLoudestSilence = 32;                          // 60 dB below full scale
constexpr double kClippedShare = 0.25;                       // of all samples

// Each thread's own, so that no clip allocates anything but its samples.
template <typename Value>
std::span<Value> scratch() {
  thread_local std::vector<Value> block(kBlock);
  return block;
}

// Decodes values of all channels, which are mixed down, to the end or to one frame beyond what is
// allowed. `samples` grows with what was decoded.
template <typename Value>
SampleFindings decode_mixed(SoundFile& file, std::vector<std::int16_t>& samples) {
  const auto block = scratch<Value>();
  const auto channels = static_cast<std::size_t>(file.channels());
  const std::size_t frames = std::max<std::size_t>(1, block.size() / channels);
  const bool straight = std::is_same_v<Value, short> && channels == 1;
  SampleFindings findings;
  std::size_t count = 0;
  while (count <= static_cast<std::size_t>(kMostFrames)) {
    if (samples.size() == count) samples.resize(count + std::max(frames, count / 2));
    const auto room = std::span(samples).subspan(count);
    const auto wanted = static_cast<std::int64_t>(std::min(room.size(), frames));
    std::int64_t got = 0;
    if constexpr (std::is_same_v<Value, short>) {
      got = file.read(straight ? room.data() : block.data(), wanted);
    } else {
      got = file.read(block.data(), wanted);
    }
    if (got == 0) break;
    const auto values = block.first(static_cast<std::size_t>(got) * channels);
    if constexpr (std::is_same_v<Value, float>) inspect(std::span<const float>(values), findings);
    if (!straight) mix_down(std::span<const Value>(values), channels, room.data());
    inspect(room.first(static_cast<std::size_t>(got)), findings);
    count += static_cast<std::size_t>(got);
  }
  samples.resize(count);
  return findings;
}

SampleFindings decode(SoundFile& file, std::vector<std::int16_t>& samples) {
  const auto promised = file.promised_frames() == SF_COUNT_MAX
                            ? 0
                            : std::clamp<std::int64_t>(file.promised_frames(), 0, kTrustedFrames);
  // One more, so that the end shows without the samples moving.
  samples.resize(static_cast<std::size_t>(promised) + 1);
  return file.fits_16_bits() ? decode_mixed<short>(file, samples)
                             : decode_mixed<float>(file, samples);
}

using Found = std::pair<SkipReason, std::string>;

std::optional<Found> fault_of_length(const SoundFile& file, std::int64_t frames) {
  if (frames > kMostFrames) {
    return Found(SkipReason::AudioTooLong, fmt::format("more than {} samples", kMostFrames));
  }
  if (file.length_is_exact() && frames < file.promised_frames()) {
    return Found(SkipReason::Truncated,
                 fmt::format("{} samples, the header promises {}", frames, file.promised_frames()));
  }
  if (const auto damage = file.damage(); !damage.empty()) {
    return Found(SkipReason::Unreadable,
                 fmt::format("damaged after {} samples: {}", frames, damage));
  }
  if (frames == 0) return Found(SkipReason::Empty, "0 samples");
  return std::nullopt;
}

std::optional<Found> fault_of_sound(const SampleFindings& findings, std::int64_t frames) {
  if (findings.has_nan) return Found(SkipReason::NotANumber, "values that are not numbers");
  if (findings.peak() <= kLoudestSilence) {
    return Found(SkipReason::Silent, fmt::format("peak {} of 32768, at least {}", findings.peak(),
                                                 kLoudestSilence + 1));
  }
  const double share = static_cast<double>(findings.at_full_scale) / static_cast<double>(frames);
  if (share >= kClippedShare) {
    return Found(SkipReason::Clipped,
                 fmt::format("{:.0f} % of all samples at full scale, below {:.0f} %", 100.0 * share,
                             100.0 * kClippedShare));
  }
  if (findings.highest - findings.lowest <= 2 * kLoudestSilence) {  // silence beside its zero
    return Found(SkipReason::Silent,
                 fmt::format("samples from {} to {} alone", findings.lowest, findings.highest));
  }
  return std::nullopt;
}

}  // namespace

std::variant<DecodedClip, Skipped> decode_clip(const std::filesystem::path& path) {
  auto opened = SoundFile::open(path);
  if (auto* skipped = std::get_if<Skipped>(&opened)) return std::move(*skipped);
  auto& file = std::get<SoundFile>(opened);
  DecodedClip clip{.samples = {}, .sample_rate = file.sample_rate(), .channels = file.channels()};
  const SampleFindings findings = decode(file, clip.samples);
  const auto frames = static_cast<std::int64_t>(clip.samples.size());
  auto fault = fault_of_length(file, frames);
  if (!fault) fault = fault_of_sound(findings, frames);
  if (!fault) return clip;
  return Skipped{.file = path, .reason = fault->first, .measured = std::move(fault->second)};
}

namespace {

std::variant<AudioHeader, Skipped> decoded_header(const std::filesystem::path& path) {
  auto decoded = decode_clip(path);
  if (auto* skipped = std::get_if<Skipped>(&decoded)) return std::move(*skipped);
  const auto& clip = std::get<DecodedClip>(decoded);
  return AudioHeader{.sample_rate = clip.sample_rate,
                     .channels = clip.channels,
                     .frames = static_cast<std::int64_t>(clip.samples.size())};
}

}  // namespace

std::variant<AudioHeader, Skipped> read_audio_header(const std::filesystem::path& path) {
  auto opened = SoundFile::open(path);
  if (auto* skipped = std::get_if<Skipped>(&opened)) return std::move(*skipped);
  const auto& file = std::get<SoundFile>(opened);
  if (!file.length_is_exact()) return decoded_header(path);
  if (file.promised_frames() <= 0) {
    return Skipped{.file = path, .reason = SkipReason::Empty, .measured = "0 samples"};
  }
  if (file.promised_frames() > kMaxAudioSamples) {  // whatever is computed from it stays in range
    return Skipped{.file = path,
                   .reason = SkipReason::AudioTooLong,
                   .measured = fmt::format("{} samples, at most {}", file.promised_frames(),
                                           kMaxAudioSamples)};
  }
  return AudioHeader{.sample_rate = file.sample_rate(),
                     .channels = file.channels(),
                     .frames = file.promised_frames()};
}

}  // namespace myxtts
