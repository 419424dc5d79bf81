// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "base/child_process.h"
#include "base/files.h"

namespace myxtts {

// The endings of names of sound files, in small letters: ".wav" and others that libsndfile reads,
// and behind them ".m4a" and others that are read through ffmpeg.
std::span<const std::string_view> audio_endings();
bool is_ffmpeg_ending(std::string_view ending);

// What an open file is, where ffmpeg reads it: by its first bytes, or else by its name. "AAC
// (M4A)"; empty for everything else, damaged files of libsndfile's formats among it.
std::string_view ffmpeg_format_of(const std::filesystem::path& path, int file);

// In every sentence about a format that was not read because ffmpeg is missing.
inline constexpr std::string_view kInstallFfmpeg = "read through ffmpeg: install it";

// Why a file could not be decoded: "AAC (M4A), which is read through ffmpeg: install it ...".
struct FfmpegFault {
  std::string what;
  bool is_too_long = false;
};

// Decodes a file's first stream of sound in one run of ffmpeg: a WAV of 32-bit floats at the file's
// own rate and channels, in memory. The file is `format` by ffmpeg_format_of().
//
// ffmpeg is started with its arguments as they are, without a shell; it may open files alone, and
// only as containers that name no other file, so that a playlist in the place of a recording leads
// nowhere. It ends at both limits: of the bytes of sound, four for each sample, and of time. A
// fault has its own words where it fails, and what to install where there is none in PATH. Any
// thread.
//
// Throws DataError where the system has no memory for the sound.
std::variant<OpenFile, FfmpegFault> decode_with_ffmpeg(
    const std::filesystem::path& path, std::string_view format, std::int64_t most_bytes,
    std::chrono::milliseconds most_time = std::chrono::minutes(5));

// The same sound piece by piece, while ffmpeg runs beside us: a file of any length takes no more
// memory than a pipe. One thread at a time.
class FfmpegStream {
 public:
  // Throws DataError with the words of an FfmpegFault.
  FfmpegStream(const std::filesystem::path& path, std::string_view format);
  FfmpegStream(const FfmpegStream&) = delete;
  FfmpegStream& operator=(const FfmpegStream&) = delete;
  ~FfmpegStream();  // ends ffmpeg

  std::int64_t sample_rate() const { return sample_rate_; }
  std::int64_t channels() const { return channels_; }

  // Fills `values` with those of all channels and gives how many; fewer only at the end of the
  // file. Throws DataError where ffmpeg complained of anything by then, or stands still.
  std::size_t read(std::span<float> values);

 private:
  struct Pipe {
    OpenFile read, write;
  };
  static Pipe new_pipe();
  FfmpegStream(const std::filesystem::path& path, std::string_view format, Pipe pipe);

  std::size_t read_bytes(std::span<std::byte> bytes);
  void read_header();
  [[noreturn]] void fail(const std::string& what) const;

  const std::filesystem::path path_;
  const std::string format_;
  OpenFile errors_;
  ChildProcess ffmpeg_;
  OpenFile sound_;  // the pipe's end that is read; -1 once it was read to its end
  std::int64_t sample_rate_ = 0;
  std::int64_t channels_ = 0;
};

}  // namespace myxtts
