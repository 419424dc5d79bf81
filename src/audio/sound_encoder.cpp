// SPDX-License-Identifier: Apache-2.0
#include "audio/sound_encoder.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "audio/audio_file.h"
#include "audio/sndfile_library.h"
#include "base/child_process.h"
#include "base/error.h"

namespace myxtts {
namespace {

static_assert(std::endian::native == std::endian::little, "WAV and raw PCM are little-endian");

struct FormatName {
  SoundFormat format;
  const char* name;
  const char* mime_type;
};
constexpr std::array<FormatName, 6> kSoundFormats = {{{SoundFormat::Mp3, "mp3", "audio/mpeg"},
                                                      {SoundFormat::Opus, "opus", "audio/ogg"},
                                                      {SoundFormat::Aac, "aac", "audio/aac"},
                                                      {SoundFormat::Flac, "flac", "audio/flac"},
                                                      {SoundFormat::Wav, "wav", "audio/wav"},
                                                      {SoundFormat::Pcm, "pcm", "audio/pcm"}}};

const FormatName& entry_of(SoundFormat format) {
  return *std::ranges::find(kSoundFormats, format, &FormatName::format);
}

std::string bytes_of(std::span<const float> samples) {
  const auto values = to_16_bits(samples);
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(values[0])};
}

constexpr std::uint32_t kUnknownLength = std::numeric_limits<std::uint32_t>::max();

// The header of a mono WAV of 16 bits with so many bytes of samples.
std::string wav_header(std::int64_t sample_rate, std::uint32_t bytes) {
  constexpr std::uint32_t kRest = 36;  // of the header, behind the first length
  std::string header;
  const auto add = [&header](auto value) {
    std::array<char, sizeof(value)> raw{};
    std::memcpy(raw.data(), &value, sizeof(value));
    header.append(raw.data(), raw.size());
  };
  const auto rate = static_cast<std::uint32_t>(sample_rate);
  header += "RIFF";
  add(bytes == kUnknownLength ? kUnknownLength : bytes + kRest);
  header += "WAVEfmt ";
  add(std::uint32_t{16});
  add(std::uint16_t{1});  // PCM
  add(std::uint16_t{1});  // channels
  add(rate);
  add(rate * 2);
  add(std::uint16_t{2});   // bytes of a sample
  add(std::uint16_t{16});  // bits of one
  header += "data";
  add(bytes);
  return header;
}

class PcmEncoder final : public SoundEncoder {
 public:
  explicit PcmEncoder(std::string header) : ready_(std::move(header)) {}

  std::string add(std::span<const float> samples) override {
    return std::exchange(ready_, {}) + bytes_of(samples);
  }
  std::string finish() override { return std::exchange(ready_, {}); }

 private:
  std::string ready_;
};

// Bytes of the frame that begins here; 0 where its head is not there yet, or none of layer III.
std::size_t mp3_frame_length(std::string_view bytes) {
  // In kbit/s by the index in the head, of MPEG 1 and of MPEG 2.
  constexpr std::array<std::array<int, 16>, 2> kRates = {
      {{0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 0},
       {0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160, 0}}};
  constexpr std::array<int, 4> kSampleRates = {44100, 48000, 32000, 0};  // of MPEG 1
  if (bytes.size() < 4) return 0;
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(bytes[i]); };
  const int version = byte(1) >> 3U & 3U;  // 3: MPEG 1, 2: MPEG 2, 0: MPEG 2.5
  const bool is_first = version == 3;
  const int rate = kRates[is_first ? 0 : 1][byte(2) >> 4U];
  const int sample_rate = kSampleRates[byte(2) >> 2U & 3U] / (is_first ? 1 : version == 2 ? 2 : 4);
  if (rate == 0 || sample_rate == 0) return 0;
  const int padding = byte(2) >> 1U & 1U;
  return static_cast<std::size_t>((is_first ? 144 : 72) * rate * 1000 / sample_rate + padding);
}

// Through libsndfile into memory. What it goes back to after it was given out (lengths in headers)
// is not written.
class SndfileEncoder final : public SoundEncoder {
 public:
  SndfileEncoder(SoundFormat format, std::int64_t sample_rate) {
    SF_INFO info{};
    info.samplerate = static_cast<int>(sample_rate);
    info.channels = 1;
    info.format = format == SoundFormat::Flac   ? SF_FORMAT_FLAC | SF_FORMAT_PCM_16
                  : format == SoundFormat::Opus ? SF_FORMAT_OGG | SF_FORMAT_OPUS
                                                : SF_FORMAT_MPEG | SF_FORMAT_MPEG_LAYER_III;
    SF_VIRTUAL_IO memory{};
    memory.get_filelen = [](void* self) { return of(self).end(); };
    memory.seek = [](sf_count_t offset, int whence, void* self) {
      return of(self).seek(offset, whence);
    };
    memory.read = [](void*, sf_count_t, void*) -> sf_count_t { return 0; };
    memory.write = [](const void* data, sf_count_t count, void* self) {
      return of(self).write(static_cast<const char*>(data), count);
    };
    memory.tell = [](void* self) { return of(self).position_; };
    file_ = library_.open_virtual(&memory, SFM_WRITE, &info, this);
    if (file_ != nullptr) {
      if (format == SoundFormat::Mp3) set_up_mp3();
      return;
    }
    throw ConfigError(fmt::format(
        "This machine's libsndfile cannot write {}; ask for wav or pcm, or install libsndfile 1.1 "
        "or newer.",
        name_of(format)));
  }

  ~SndfileEncoder() override {
    if (file_ != nullptr) library_.close(file_);
  }

  std::string add(std::span<const float> samples) override {
    const auto values = to_16_bits(samples);
    for (std::size_t at = 0; at < values.size(); at += kBlock) {
      const auto count = static_cast<sf_count_t>(std::min(kBlock, values.size() - at));
      MYXTTS_CHECK(library_.writef_short(file_, values.data() + at, count) == count,
                   "libsndfile wrote less than it was given");
    }
    return take();
  }

  std::string finish() override {
    library_.close(std::exchange(file_, nullptr));
    return take();
  }

 private:
  static constexpr std::size_t kBlock = 4096;  // Vorbis encoders of old overflow on long ones

  // Players tell how long an MP3 of one bit rate is. The encoder begins with an empty frame, into
  // which it would write the length at the end: it is left out.
  void set_up_mp3() {
    int mode = SF_BITRATE_MODE_CONSTANT;
    library_.command(file_, SFC_SET_BITRATE_MODE, &mode, sizeof(mode));
    double level = 0.4;  // about 100 kbit/s
    library_.command(file_, SFC_SET_COMPRESSION_LEVEL, &level, sizeof(level));
    has_empty_frame_ = true;
  }

  static SndfileEncoder& of(void* self) { return *static_cast<SndfileEncoder*>(self); }

  sf_count_t end() const { return given_ + static_cast<sf_count_t>(ready_.size()); }

  sf_count_t seek(sf_count_t offset, int whence) {
    position_ = offset + (whence == SEEK_SET ? 0 : whence == SEEK_CUR ? position_ : end());
    return position_;
  }

  sf_count_t write(const char* data, sf_count_t count) {
    const sf_count_t from = std::clamp<sf_count_t>(given_ - position_, 0, count);
    const auto at = static_cast<std::size_t>(std::max<sf_count_t>(position_ - given_, 0));
    const auto rest = static_cast<std::size_t>(count - from);
    if (ready_.size() < at + rest) ready_.resize(at + rest);
    std::copy_n(data + from, rest, ready_.begin() + static_cast<std::ptrdiff_t>(at));
    position_ += count;
    return count;
  }

  std::string take() {
    const std::size_t empty = has_empty_frame_ ? mp3_frame_length(ready_) : 0;
    if (has_empty_frame_ && (empty == 0 || ready_.size() < empty)) return {};
    has_empty_frame_ = false;
    given_ = end();
    return std::exchange(ready_, {}).substr(empty);
  }

  const SndfileLibrary& library_ = sndfile_library();
  SNDFILE* file_ = nullptr;
  std::string ready_;
  sf_count_t given_ = 0;  // bytes before those that are ready
  sf_count_t position_ = 0;
  bool has_empty_frame_ = false;  // in front of what is ready
};

// Through the program ffmpeg, which is fed and read at once so that neither pipe fills up.
class FfmpegEncoder final : public SoundEncoder {
 public:
  explicit FfmpegEncoder(std::int64_t sample_rate) {
    const std::string program = find_program("ffmpeg");
    if (program.empty()) {
      throw ConfigError(
          "AAC is written by the program ffmpeg, which is not installed here; ask for mp3, opus, "
          "flac, wav or pcm, or install ffmpeg.");
    }
    std::array<int, 2> in{};
    std::array<int, 2> out{};
    MYXTTS_CHECK(pipe2(in.data(), O_CLOEXEC) == 0 && pipe2(out.data(), O_CLOEXEC) == 0,
                 "no pipe: {}", std::strerror(errno));
    const std::string rate = std::to_string(sample_rate);
    std::array<const char*, 17> words = {
        program.c_str(), "-v",    "quiet", "-nostdin", "-f",     "s16le", "-ar",
        rate.c_str(),    "-ac",   "1",     "-i",       "pipe:0", "-f",    "adts",
        "pipe:1",        nullptr, nullptr};
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
    const int failed = posix_spawn(&process_, program.c_str(), &actions, nullptr,
                                   const_cast<char* const*>(words.data()), environ);
    posix_spawn_file_actions_destroy(&actions);
    close(in[0]);
    close(out[1]);
    to_ = in[1];
    from_ = out[0];
    MYXTTS_CHECK(failed == 0, "ffmpeg does not start: {}", std::strerror(failed));
    fcntl(to_, F_SETFL, O_NONBLOCK);
  }

  ~FfmpegEncoder() override {
    if (to_ >= 0) close(to_);
    if (from_ >= 0) close(from_);
    if (process_ > 0) {
      kill(process_, SIGKILL);
      waitpid(process_, nullptr, 0);
    }
  }

  std::string add(std::span<const float> samples) override { return exchange(bytes_of(samples)); }

  std::string finish() override {
    close(std::exchange(to_, -1));
    std::string ready;
    while (read_some(ready)) {
    }
    waitpid(std::exchange(process_, -1), nullptr, 0);
    return ready;
  }

 private:
  std::string exchange(const std::string& bytes) {
    std::string ready;
    std::size_t written = 0;
    while (written < bytes.size()) {
      std::array<pollfd, 2> files{{{to_, POLLOUT, 0}, {from_, POLLIN, 0}}};
      if (poll(files.data(), files.size(), -1) < 0 && errno != EINTR) break;
      if (files[1].revents != 0 && !read_some(ready)) break;
      if (files[0].revents == 0) continue;
      const ssize_t count = write(to_, bytes.data() + written, bytes.size() - written);
      if (count < 0 && errno != EAGAIN && errno != EINTR) break;
      if (count > 0) written += static_cast<std::size_t>(count);
    }
    if (written < bytes.size()) throw DataError("ffmpeg ended before the sound did.");
    return ready;
  }

  bool read_some(std::string& into) const {
    std::array<char, 65536> buffer{};
    const ssize_t count = read(from_, buffer.data(), buffer.size());
    if (count > 0) into.append(buffer.data(), static_cast<std::size_t>(count));
    return count > 0 || (count < 0 && errno == EINTR);
  }

  pid_t process_ = -1;
  int to_ = -1;
  int from_ = -1;
};

}  // namespace

std::optional<SoundFormat> parse_sound_format(std::string_view name) {
  const auto found = std::ranges::find(kSoundFormats, name, &FormatName::name);
  if (found == kSoundFormats.end()) return {};
  return found->format;
}

std::vector<std::string> sound_format_names() {
  std::vector<std::string> names;
  for (const auto& entry : kSoundFormats) names.emplace_back(entry.name);
  return names;
}

const char* name_of(SoundFormat format) {
  return entry_of(format).name;
}

std::string mime_type_of(SoundFormat format, std::int64_t sample_rate) {
  if (format != SoundFormat::Pcm) return entry_of(format).mime_type;
  return fmt::format("{};rate={}", entry_of(format).mime_type, sample_rate);
}

std::unique_ptr<SoundEncoder> make_sound_encoder(SoundFormat format, std::int64_t sample_rate) {
  switch (format) {
    case SoundFormat::Pcm:
      return std::make_unique<PcmEncoder>("");
    case SoundFormat::Wav:
      return std::make_unique<PcmEncoder>(wav_header(sample_rate, kUnknownLength));
    case SoundFormat::Aac:
      return std::make_unique<FfmpegEncoder>(sample_rate);
    case SoundFormat::Mp3:
    case SoundFormat::Opus:
    case SoundFormat::Flac:
      break;
  }
  return std::make_unique<SndfileEncoder>(format, sample_rate);
}

std::string wav_of(std::span<const float> samples, std::int64_t sample_rate) {
  const std::string bytes = bytes_of(samples);
  return wav_header(sample_rate, static_cast<std::uint32_t>(bytes.size())) + bytes;
}

}  // namespace myxtts
