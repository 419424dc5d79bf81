// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "audio/ffmpeg.h"
#include "audio/sndfile_library.h"

namespace myxtts {

// A sound file of any length, decoded piece by piece as it stands there: no mixing, no resampling.
// WAV, FLAC, OGG, Opus and MP3 are read by libsndfile, M4A, AAC, WebM and others by ffmpeg, which
// runs beside us. Memory follows what is read at a time, never what a header claims.
//
// Errors are DataErrors that name the file and what is wrong with it: missing, not audio, empty;
// while it is read: damaged, cut short, or with values that are not numbers. One thread at a time.
class SoundReader {
 public:
  explicit SoundReader(const std::filesystem::path& path);

  std::int64_t sample_rate() const { return sample_rate_; }
  std::int64_t channels() const { return channels_; }

  // Samples of one channel, as the header says; nothing where it does not.
  std::optional<std::int64_t> promised_frames() const;

  // The next values of all channels, interleaved, until the next call; none at the end alone, which
  // is the end of a whole file: one that was cut short is an error there.
  std::span<const float> read();

  std::int64_t frames_read() const { return frames_read_; }

 private:
  struct CloseFile {
    void operator()(SNDFILE* file) const { sndfile_library().close(file); }
  };
  using SoundFile = std::unique_ptr<SNDFILE, CloseFile>;

  void open();
  SoundFile open_by_sndfile();
  std::size_t read_block();
  void check_end() const;

  const std::filesystem::path path_;
  SF_INFO info_{};
  std::unique_ptr<FfmpegStream> ffmpeg_;  // either this
  SoundFile file_;                        // or that
  std::int64_t sample_rate_ = 0;
  std::int64_t channels_ = 0;
  std::int64_t frames_read_ = 0;
  std::vector<float> block_;
};

}  // namespace myxtts
