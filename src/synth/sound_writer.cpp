// SPDX-License-Identifier: Apache-2.0
#include "synth/sound_writer.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "audio/sndfile_library.h"
#include "base/atomic_file.h"
#include "base/error.h"

namespace myxtts {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kBlock = 4096;  // samples; Vorbis encoders of old overflow on long ones

struct Format {
  const char* extension;
  int format;
};
constexpr std::array kFormats = {Format{".wav", SF_FORMAT_WAV | SF_FORMAT_PCM_16},
                                 Format{".flac", SF_FORMAT_FLAC | SF_FORMAT_PCM_16},
                                 Format{".ogg", SF_FORMAT_OGG | SF_FORMAT_VORBIS}};

std::optional<int> format_of(const fs::path& path) {
  std::string extension = path.extension().string();
  std::ranges::transform(extension, extension.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  for (const Format& known : kFormats) {
    if (extension == known.extension) return known.format;
  }
  return {};
}

std::vector<short> to_16_bits(std::span<const float> samples) {
  std::vector<short> values(samples.size());
  std::ranges::transform(samples, values.begin(), [](float value) {
    return static_cast<short>(std::lround(std::clamp(value, -1.0F, 1.0F) * 32767.0F));
  });
  return values;
}

class FileWriter final : public SoundWriter {
 public:
  FileWriter(const fs::path& path, std::int64_t sample_rate, Appears appears)
      : path_(path), working_(path), appears_(appears), format_(*format_of(path)) {
    if (appears == Appears::Whole) working_ += fmt::format(".{}.part", getpid());
    SF_INFO info{};
    info.samplerate = static_cast<int>(sample_rate);
    info.channels = 1;
    info.format = format_;
    file_ = library_.open(working_.c_str(), SFM_WRITE, &info);
    if (file_ == nullptr) {
      throw DataError(
          fmt::format("{} cannot be written: {}", path_.string(), library_.strerror(nullptr)));
    }
    if (appears == Appears::Growing) {
      library_.command(file_, SFC_SET_UPDATE_HEADER_AUTO, nullptr, SF_TRUE);
    }
  }

  ~FileWriter() override {
    if (file_ != nullptr) library_.close(file_);
    std::error_code ignored;  // a destructor cannot report it
    if (appears_ == Appears::Whole && !finished_) fs::remove(working_, ignored);
  }

  void write(std::span<const float> samples) override {
    const auto values = to_16_bits(samples);
    for (std::size_t at = 0; at < values.size(); at += kBlock) {
      const auto count = static_cast<sf_count_t>(std::min(kBlock, values.size() - at));
      if (library_.writef_short(file_, values.data() + at, count) != count) fail();
    }
  }

  void finish() override {
    if (library_.close(std::exchange(file_, nullptr)) != 0) fail();
    std::error_code failed;
    if (appears_ == Appears::Whole) fs::rename(working_, path_, failed);
    if (failed) fail();
    finished_ = true;
  }

 private:
  [[noreturn]] void fail() const {
    throw DataError(fmt::format("{} cannot be written; is the disk full?", path_.string()));
  }

  const SndfileLibrary& library_ = sndfile_library();
  fs::path path_;
  fs::path working_;  // the file that is written until finish()
  Appears appears_;
  int format_;
  SNDFILE* file_ = nullptr;
  bool finished_ = false;
};

class PcmWriter final : public SoundWriter {
 public:
  void write(std::span<const float> samples) override {
    const auto values = to_16_bits(samples);
    detail::write_all(STDOUT_FILENO, std::as_bytes(std::span(values)), "standard output");
  }
  void finish() override {}
};

}  // namespace

void check_sound_extension(const fs::path& path) {
  if (path == "-" || format_of(path)) return;
  throw ConfigError(fmt::format(
      "{} does not say what kind of file to write; let it end in .wav, .flac or .ogg, or give - "
      "for raw PCM on standard output.",
      path.string()));
}

std::unique_ptr<SoundWriter> open_sound_writer(const fs::path& path, std::int64_t sample_rate,
                                               Appears appears) {
  check_sound_extension(path);
  if (path == "-") return std::make_unique<PcmWriter>();
  return std::make_unique<FileWriter>(path, sample_rate, appears);
}

}  // namespace myxtts
