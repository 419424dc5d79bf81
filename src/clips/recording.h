// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "audio/resample.h"
#include "audio/sound_reader.h"
#include "base/error.h"
#include "base/files.h"
#include "clips/cuts.h"

namespace myxtts {

class VoiceActivity;

inline constexpr std::int64_t kClipRate = 22'050;  // samples a second of what is cut

// Changes the rate of sound that comes piece by piece, to the same samples as all at once. One
// thread at a time.
class StreamResampler {
 public:
  StreamResampler(std::int64_t from_rate, std::int64_t to_rate);

  // Takes [S] fp32 and gives what is ready; what is missing yet comes with the next piece.
  at::Tensor add(const at::Tensor& piece);
  // The rest.
  at::Tensor finish();

 private:
  at::Tensor take(std::int64_t end, std::int64_t last);

  Resampler resample_;
  std::int64_t from_, to_;   // samples that correspond to one another
  std::int64_t step_ = 0;    // samples, a multiple of from_, beyond the reach of the filter
  at::Tensor held_;          // what the next samples need
  std::int64_t before_ = 0;  // of those, the first ones are done already
};

// Nothing can be made of a file: it is missing, empty, no sound, or damaged from its start on.
class UnreadableRecording : public DataError {
 public:
  using DataError::DataError;
};

// A recording of any length, decoded once: mono at kClipRate in 16 bits, in a file of the folder
// `scratch` that has no name and is gone with the process, so that twelve hours need two gigabytes
// of disk and little memory. One thread at a time.
class Recording {
 public:
  // Reads it whole; `heard` is told of each further second. A file that is damaged after its first
  // seconds is kept up to there, and damage() says so. Throws UnreadableRecording where
  // nothing can be read, another DataError where the disk is full, and Interrupted.
  Recording(const std::filesystem::path& path, const std::filesystem::path& scratch,
            const std::function<void(double seconds)>& heard = {});

  // Listens to it from its begin to its end, for course(); `heard` is told of each further second.
  // Throws Interrupted.
  void listen(const VoiceActivity& activity, const std::function<void(double seconds)>& heard = {});

  std::int64_t samples() const { return samples_; }
  const std::filesystem::path& path() const { return path_; }
  double seconds() const;
  const std::string& damage() const { return damage_; }  // a sentence, or empty

  // What it sounds like. How much of it stands at full scale, of the file's own samples, is known
  // from the start, speech and levels once listen() was called.
  const SoundCourse& course() const { return course_; }

  // From sample to sample, [S] fp32; ends where the recording does.
  at::Tensor sound(std::int64_t begin, std::int64_t end) const;

 private:
  std::span<const float> read_on(SoundReader& reader);
  void write(const at::Tensor& sound);
  void count_clipped(std::span<const float> values, std::int64_t channels, std::int64_t first,
                     std::int64_t rate);

  const std::filesystem::path path_;
  OpenFile file_;
  std::int64_t samples_ = 0;
  std::string damage_;
  SoundCourse course_;
};

}  // namespace myxtts
