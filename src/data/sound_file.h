// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <variant>

#include "audio/sndfile_library.h"
#include "data/skipped.h"

namespace myxtts {

// A sound file open for reading, whose header makes sense and promises nothing that is not there.
// One thread at a time.
class SoundFile {
 public:
  // What is wrong with the file comes back as a value. Throws DataError only where libsndfile
  // itself is missing.
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
    Descriptor(Descriptor&& other) noexcept : file_(std::exchange(other.file_, -1)) {}
    Descriptor& operator=(Descriptor&&) = delete;
    ~Descriptor();

    int get() const { return file_; }

   private:
    int file_;
  };
  struct Close {
    void operator()(SNDFILE* file) const { sndfile_library().close(file); }
  };

  SoundFile(Descriptor descriptor, SNDFILE* file, const SF_INFO& info);

  Descriptor descriptor_;  // read by file_, and so closed after it
  std::unique_ptr<SNDFILE, Close> file_;
  SF_INFO info_;
  bool length_is_exact_;
};

}  // namespace myxtts
