// SPDX-License-Identifier: Apache-2.0
#include "synth/sound_writer.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/ranges.h>

#include "audio/audio_file.h"
#include "audio/sndfile_library.h"
#include "base/atomic_file.h"
#include "base/error.h"

namespace myxtts {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kBlock = 4096;  // samples; Vorbis encoders of old overflow on long ones

// By the endings of file names.
constexpr std::array<std::pair<const char*, int>, 5> kFormats = {
    {{".wav", SF_FORMAT_WAV | SF_FORMAT_PCM_16},
     {".flac", SF_FORMAT_FLAC | SF_FORMAT_PCM_16},
     {".ogg", SF_FORMAT_OGG | SF_FORMAT_VORBIS},
     {".opus", SF_FORMAT_OGG | SF_FORMAT_OPUS},
     {".mp3", SF_FORMAT_MPEG | SF_FORMAT_MPEG_LAYER_III}}};
constexpr int kUsualRate = 24000;

std::optional<int> format_of(const fs::path& path) {
  std::string extension = path.extension().string();
  std::ranges::transform(extension, extension.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  for (const auto& [known, format] : kFormats) {
    if (extension == known) return format;
  }
  return {};
}

class FileWriter final : public SoundWriter {
 public:
  FileWriter(const fs::path& path, std::int64_t sample_rate, Appears appears)
      : path_(path), working_(path), appears_(appears) {
    const auto format = format_of(path);
    MYXTTS_CHECK(format, "{} is no sound file; check_sound_output() was not asked", path.string());
    if (appears == Appears::Whole) working_ += fmt::format(".{}.part", getpid());
    SF_INFO info{};
    info.samplerate = static_cast<int>(sample_rate);
    info.channels = 1;
    info.format = *format;
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

namespace {

// Begins such a file in nothing: whether the library was built with an encoder shows only then.
bool can_write(int format) {
  SF_VIRTUAL_IO nowhere{};
  nowhere.get_filelen = [](void*) -> sf_count_t { return 0; };
  nowhere.seek = [](sf_count_t, int, void*) -> sf_count_t { return 0; };
  nowhere.read = [](void*, sf_count_t, void*) -> sf_count_t { return 0; };
  nowhere.write = [](const void*, sf_count_t count, void*) { return count; };
  nowhere.tell = [](void*) -> sf_count_t { return 0; };
  SF_INFO info{};
  info.samplerate = kUsualRate;
  info.channels = 1;
  info.format = format;
  const SndfileLibrary& library = sndfile_library();
  SNDFILE* file = library.open_virtual(&nowhere, SFM_WRITE, &info, nullptr);
  if (file == nullptr) return false;
  library.close(file);
  return true;
}

// ".wav, .flac or .ogg".
std::string writable_extensions() {
  std::vector<std::string> found;
  for (const auto& [extension, format] : kFormats) {
    if (can_write(format)) found.emplace_back(extension);
  }
  const std::string last = found.back();
  found.pop_back();
  return found.empty() ? last : fmt::format("{} or {}", fmt::join(found, ", "), last);
}

}  // namespace

void check_sound_output(const fs::path& path) {
  if (path == "-") {
    if (isatty(STDOUT_FILENO) == 0) return;
    throw ConfigError(
        "--out - writes raw sound, which a terminal cannot play; name a file, such as --out "
        "hello.wav, or send it to a player: --stream --out - | aplay -f S16_LE -r 24000");
  }
  const auto format = format_of(path);
  if (format && can_write(*format)) return;
  throw ConfigError(fmt::format(
      "--out {} cannot be written: {}. Let it end in {}, or give - for raw PCM on "
      "standard output.",
      path.string(),
      format
          ? fmt::format("the libsndfile of this machine cannot write {}", path.extension().string())
          : "its ending is none of a kind of sound that is written here",
      writable_extensions()));
}

std::unique_ptr<SoundWriter> open_sound_writer(const fs::path& path, std::int64_t sample_rate,
                                               Appears appears) {
  if (path == "-") return std::make_unique<PcmWriter>();
  return std::make_unique<FileWriter>(path, sample_rate, appears);
}

}  // namespace myxtts
