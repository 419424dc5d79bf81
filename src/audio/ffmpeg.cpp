// SPDX-License-Identifier: Apache-2.0
#include "audio/ffmpeg.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <limits>
#include <optional>
#include <system_error>
#include <vector>

#include "audio/file_piece.h"
#include "base/child_process.h"
#include "base/error.h"
#include "base/message_text.h"

namespace myxtts {
namespace {

// libsndfile's, then ffmpeg's.
constexpr std::array<std::string_view, 17> kEndings = {
    ".wav", ".flac", ".mp3", ".ogg", ".opus", ".m4a", ".aac", ".webm", ".mp4",
    ".m4b", ".mka",  ".mkv", ".mov", ".wma",  ".amr", ".3gp", ".ac3"};
constexpr std::size_t kOfSndfile = 5;

constexpr std::pair<std::string_view, std::string_view> kFormats[] = {{".m4a", "AAC (M4A)"},
                                                                      {".m4b", "AAC (M4B)"},
                                                                      {".mp4", "sound in MP4"},
                                                                      {".mov", "sound in MOV"},
                                                                      {".3gp", "sound in 3GP"},
                                                                      {".aac", "AAC"},
                                                                      {".webm", "sound in WebM"},
                                                                      {".mka", "sound in Matroska"},
                                                                      {".mkv", "sound in Matroska"},
                                                                      {".wma", "WMA"},
                                                                      {".amr", "AMR"},
                                                                      {".ac3", "AC-3"}};

// Containers and streams that name no other file; playlists are not among them.
constexpr const char* kContainers = "mov,mp4,m4a,3gp,matroska,webm,aac,asf,amr,ac3";

std::string ending_of(const std::filesystem::path& path) {
  std::string ending = path.extension().string();
  for (char& c : ending) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return ending;
}

std::string_view format_of_ending(std::string_view ending) {
  for (const auto& [known, format] : kFormats) {
    if (known == ending) return format;
  }
  return {};
}

// Whether libsndfile's formats begin so.
bool is_of_sndfile(std::string_view bytes) {
  return bytes.starts_with("RIFF") || bytes.starts_with("fLaC") || bytes.starts_with("OggS") ||
         bytes.starts_with("ID3") || bytes.starts_with("FORM");
}

// By the marks that containers begin with.
std::string_view format_of_bytes(std::string_view bytes) {
  if (bytes.size() >= 8 && bytes.substr(4, 4) == "ftyp") return "AAC (M4A)";
  if (bytes.starts_with("\x1a\x45\xdf\xa3")) return "sound in WebM";
  if (bytes.starts_with("\x30\x26\xb2\x75")) return "WMA";
  if (bytes.starts_with("#!AMR")) return "AMR";
  if (bytes.starts_with("\xff\xf1") || bytes.starts_with("\xff\xf9")) return "AAC";
  return {};
}

std::vector<std::string> command_for(const std::string& program,
                                     const std::filesystem::path& path) {
  // "file:" keeps a name that begins with a dash or holds a colon from being anything else.
  return {program,
          "-nostdin",
          "-hide_banner",
          "-v",
          "error",
          "-xerror",
          "-protocol_whitelist",
          "file",
          "-format_whitelist",
          kContainers,
          "-i",
          "file:" + path.string(),
          "-map",
          "0:a:0",
          "-vn",
          "-sn",
          "-dn",
          "-map_metadata",
          "-1",
          "-c:a",
          "pcm_f32le",
          "-f",
          "wav",
          "pipe:1"};
}

std::int64_t size_of(const OpenFile& file) {
  struct stat status {};
  return ::fstat(file.get(), &status) == 0 ? status.st_size : 0;
}

// Without the addresses that ffmpeg names its parts by, "[aac @ 0x5568c67ccc00] ": they tell users
// nothing and are others in each run.
std::string without_addresses(std::string text) {
  for (std::size_t at = text.find(" @ 0x"); at != text.npos; at = text.find(" @ 0x", at)) {
    const auto end = text.find(']', at);
    const auto begin = text.rfind('[', at);
    if (begin == text.npos || end == text.npos) return text.substr(0, std::min(begin, at));
    text.erase(begin, text.find_first_not_of(' ', end + 1) - begin);
    at = begin;
  }
  return text;
}

// What ffmpeg said, on one line.
std::string said(const OpenFile& errors) {
  constexpr std::size_t kMost = 600;
  std::string text(kMost, '\0');
  const auto got = ::pread(errors.get(), text.data(), text.size(), 0);
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  while (!text.empty() && text.back() == '\n') text.pop_back();
  std::ranges::replace(text, '\n', ' ');
  text = without_addresses(std::move(text));
  return text.empty() ? "it gave no reason" : printable(text);
}

std::string without_ffmpeg(std::string_view format) {
  return fmt::format(
      "{}, which is {} (apt install ffmpeg), or convert the file to WAV, FLAC, OGG, Opus or MP3",
      format, kInstallFfmpeg);
}

std::string unreadable(std::string_view format, const OpenFile& errors) {
  return fmt::format("{}, and ffmpeg cannot read it: {}", format, said(errors));
}

}  // namespace

bool is_ffmpeg_ending(std::string_view ending) {
  const auto others = std::span(kEndings).subspan(kOfSndfile);
  return std::ranges::find(others, ending) != others.end();
}

std::span<const std::string_view> audio_endings() {
  return kEndings;
}

std::string_view ffmpeg_format_of(const std::filesystem::path& path, int file) {
  std::array<char, 12> bytes{};
  const auto got = ::pread(file, bytes.data(), bytes.size(), 0);
  const std::string_view head(bytes.data(), got > 0 ? static_cast<std::size_t>(got) : 0);
  if (is_of_sndfile(head)) return {};
  const std::string_view by_name = format_of_ending(ending_of(path));
  return by_name.empty() ? format_of_bytes(head) : by_name;
}

std::variant<OpenFile, FfmpegFault> decode_with_ffmpeg(const std::filesystem::path& path,
                                                       std::string_view format,
                                                       std::int64_t most_bytes,
                                                       std::chrono::milliseconds most_time) {
  const std::string program = find_program("ffmpeg");
  if (program.empty()) {
    return FfmpegFault{without_ffmpeg(format)};
  }
  OpenFile sound = memory_file("sound");
  const OpenFile errors = memory_file("errors");
  std::optional<int> code;
  {
    ChildProcess ffmpeg(command_for(program, path), sound.get(), errors.get(), most_bytes);
    code = ffmpeg.wait_for(most_time);
    if (!code) ffmpeg.send(SIGKILL);
  }
  if (!code) {
    return FfmpegFault{fmt::format("{}, and ffmpeg was not done with it after {}", format,
                                   human_duration(most_time))};
  }
  if (size_of(sound) >= most_bytes) {
    return FfmpegFault{.what = fmt::format("{}, and holds more than {} samples", format,
                                           human_count(most_bytes / 4)),
                       .is_too_long = true};
  }
  if (*code != 0 || size_of(errors) > 0) {
    return FfmpegFault{unreadable(format, errors)};
  }
  ::lseek(sound.get(), 0, SEEK_SET);
  return sound;
}

namespace {

constexpr int kPatienceMs = 60'000;  // for the next piece

std::string ffmpeg_for(const std::filesystem::path& path, std::string_view format) {
  std::string program = find_program("ffmpeg");
  if (!program.empty()) return program;
  throw DataError(fmt::format("{} is {}.", path.string(), without_ffmpeg(format)));
}

std::uint32_t little_endian(std::span<const std::byte> bytes) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    value |= std::to_integer<std::uint32_t>(bytes[i]) << (8 * i);
  }
  return value;
}

bool reads(std::span<const std::byte> bytes, std::string_view mark) {
  return std::memcmp(bytes.data(), mark.data(), mark.size()) == 0;
}

}  // namespace

FfmpegStream::Pipe FfmpegStream::new_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) == 0) return {OpenFile(ends[0]), OpenFile(ends[1])};
  throw DataError(
      fmt::format("No pipe to ffmpeg could be had: {}.", std::generic_category().message(errno)));
}

FfmpegStream::FfmpegStream(const std::filesystem::path& path, std::string_view format)
    : FfmpegStream(path, format, new_pipe()) {
  read_header();
}

// Our copy of the end that is written is closed once ffmpeg has its own, or the sound never ends.
FfmpegStream::FfmpegStream(const std::filesystem::path& path, std::string_view format, Pipe pipe)
    : path_(path),
      format_(format),
      errors_(memory_file("errors")),
      ffmpeg_(command_for(ffmpeg_for(path, format), path), OpenFile(pipe.write.release()).get(),
              errors_.get(), std::numeric_limits<std::int64_t>::max()),
      sound_(pipe.read.release()) {}

FfmpegStream::~FfmpegStream() {
  ffmpeg_.send(SIGKILL);
}

void FfmpegStream::fail(const std::string& what) const {
  throw DataError(fmt::format("{} is {}.", path_.string(), what));
}

std::size_t FfmpegStream::read_bytes(std::span<std::byte> bytes) {
  std::size_t filled = 0;
  while (filled < bytes.size() && sound_.get() >= 0) {
    pollfd ready{.fd = sound_.get(), .events = POLLIN, .revents = 0};
    const int waited = ::poll(&ready, 1, kPatienceMs);
    if (waited < 0 && errno == EINTR) continue;
    if (waited <= 0) fail(fmt::format("{}, and ffmpeg gives no more of it", format_));
    const auto got = ::read(sound_.get(), bytes.data() + filled, bytes.size() - filled);
    if (got < 0 && errno == EINTR) continue;
    if (got > 0) {
      filled += static_cast<std::size_t>(got);
      continue;
    }
    ::close(sound_.release());
    if (ffmpeg_.wait() != 0 || size_of(errors_) > 0) fail(unreadable(format_, errors_));
  }
  return filled;
}

// A WAV whose chunks come in order; its lengths mean nothing, as they are written before the sound.
void FfmpegStream::read_header() {
  std::array<std::byte, 12> start{};
  read_bytes(start);
  std::array<std::byte, 8> head{};
  bool is_wav = reads(start, "RIFF") && reads(std::span(start).subspan(8), "WAVE");
  while (is_wav) {
    is_wav = read_bytes(head) == head.size();
    if (!is_wav || reads(head, "data")) break;
    const auto size = little_endian(std::span(head).subspan(4));
    std::vector<std::byte> chunk(std::min<std::size_t>(size + (size & 1U), 1U << 16U));
    is_wav = read_bytes(chunk) == chunk.size();
    if (!reads(head, "fmt ") || chunk.size() < 16) continue;
    channels_ = little_endian(std::span(chunk).subspan(2, 2));
    sample_rate_ = little_endian(std::span(chunk).subspan(4, 4));
    is_wav = is_wav && little_endian(std::span(chunk).subspan(14, 2)) == 32;
  }
  if (!is_wav || channels_ < 1 || sample_rate_ < 1) {
    fail(fmt::format("{}, and what ffmpeg gives of it is no sound", format_));
  }
}

std::size_t FfmpegStream::read(std::span<float> values) {
  return read_bytes(std::as_writable_bytes(values)) / sizeof(float);
}

}  // namespace myxtts
