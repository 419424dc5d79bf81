// SPDX-License-Identifier: Apache-2.0
#include "support/corpus_maker.h"

#include <cmath>
#include <fstream>
#include <functional>
#include <numbers>
#include <stdexcept>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "audio/sndfile_library.h"

namespace myxtts::test {
namespace {

struct FormatRow {
  SoundFormat format;
  std::string_view name;
  std::string_view extension;
  int sndfile;
};

const std::vector<FormatRow>& rows() {
  static const std::vector<FormatRow> table = {
      {SoundFormat::Wav8, "wav-8", ".wav", SF_FORMAT_WAV | SF_FORMAT_PCM_U8},
      {SoundFormat::Wav16, "wav-16", ".wav", SF_FORMAT_WAV | SF_FORMAT_PCM_16},
      {SoundFormat::Wav24, "wav-24", ".wav", SF_FORMAT_WAV | SF_FORMAT_PCM_24},
      {SoundFormat::Wav32, "wav-32", ".wav", SF_FORMAT_WAV | SF_FORMAT_PCM_32},
      {SoundFormat::WavFloat, "wav-float", ".wav", SF_FORMAT_WAV | SF_FORMAT_FLOAT},
      {SoundFormat::WavDouble, "wav-double", ".wav", SF_FORMAT_WAV | SF_FORMAT_DOUBLE},
      {SoundFormat::WavExtensible, "wav-extensible", ".wav", SF_FORMAT_WAVEX | SF_FORMAT_PCM_16},
      {SoundFormat::Flac16, "flac-16", ".flac", SF_FORMAT_FLAC | SF_FORMAT_PCM_16},
      {SoundFormat::Flac24, "flac-24", ".flac", SF_FORMAT_FLAC | SF_FORMAT_PCM_24},
      {SoundFormat::Vorbis, "vorbis", ".ogg", SF_FORMAT_OGG | SF_FORMAT_VORBIS},
      {SoundFormat::Opus, "opus", ".opus", SF_FORMAT_OGG | SF_FORMAT_OPUS},
      {SoundFormat::Mp3, "mp3", ".mp3", SF_FORMAT_MPEG | SF_FORMAT_MPEG_LAYER_III},
  };
  return table;
}

const FormatRow& row_of(SoundFormat format) {
  for (const FormatRow& row : rows()) {
    if (row.format == format) return row;
  }
  throw std::logic_error("no such format of sound");
}

class Numbers {
 public:
  explicit Numbers(std::uint64_t seed) : state_(seed * 2 + 1) {}

  double next() {
    state_ = state_ * 6364136223846793005U + 1442695040888963407U;
    return static_cast<double>(state_ >> 40U) / static_cast<double>(1U << 24U);
  }

 private:
  std::uint64_t state_;
};

void put(std::string& bytes, std::uint64_t value, int count) {
  for (int index = 0; index < count; ++index) {
    bytes += static_cast<char>(value >> (8 * index) & 0xffU);
  }
}

// What each layout writes. `audio` gives the path of a clip's sound, which it writes first.
class Layouts {
 public:
  Layouts(std::filesystem::path folder, const std::vector<MadeClip>& clips, SoundFormat format)
      : folder_(std::move(folder)), clips_(clips), format_(format) {}

  std::filesystem::path metadata(const std::string& file, bool three_columns) {
    std::string lines;
    for (const MadeClip& clip : clips_) {
      sound("wavs/" + clip.name, clip);
      lines += fmt::format("{}|{}{}\n", clip.name, three_columns ? "raw" : clip.text,
                           three_columns ? "|" + clip.text : "");
    }
    write_text(folder_ / file, lines);
    return folder_;
  }

  std::filesystem::path vctk() {
    for (const MadeClip& clip : clips_) {
      const std::string name = clip.speaker + "/" + clip.name;
      sound("wav48_silence_trimmed/" + name + "_mic1", clip);
      sound("wav48_silence_trimmed/" + name + "_mic2", clip);
      write_text(folder_ / "txt" / (name + ".txt"), clip.text + "\n");
    }
    return folder_;
  }

  std::filesystem::path common_voice() {
    std::string lines = "client_id\tpath\tsentence\tup_votes\tlocale\n";
    for (const MadeClip& clip : clips_) {
      const std::string file = sound("clips/" + clip.name, clip);
      lines += fmt::format("{}\t{}\t{}\t2\ten\n", clip.speaker, file.substr(6), clip.text);
    }
    write_text(folder_ / "train.tsv", lines);
    return folder_;
  }

  std::filesystem::path libritts() {
    for (const MadeClip& clip : clips_) {
      const std::string name = fmt::format("{0}/11/{0}_11_{1}", clip.speaker, clip.name);
      sound(name, clip);
      write_text(folder_ / (name + ".normalized.txt"), clip.text);
      write_text(folder_ / (name + ".original.txt"), "raw");
    }
    return folder_;
  }

  std::filesystem::path text_files() {
    for (const MadeClip& clip : clips_) {
      sound(clip.speaker + "/" + clip.name, clip);
      write_text(folder_ / clip.speaker / (clip.name + ".txt"), clip.text);
    }
    return folder_;
  }

  std::filesystem::path lines(
      const std::string& file, const std::string& header,
      const std::function<std::string(const MadeClip&, const std::string&)>& line) {
    std::string text = header;
    for (const MadeClip& clip : clips_)
      text += line(clip, sound("audio/" + clip.name, clip)) + "\n";
    write_text(folder_ / file, text);
    return folder_;
  }

 private:
  std::string sound(const std::string& name, const MadeClip& clip) {
    const std::string file = name + std::string(extension_of(format_));
    write_sound(folder_ / file, clip.sound, format_);
    return file;
  }

  const std::filesystem::path folder_;
  const std::vector<MadeClip>& clips_;
  const SoundFormat format_;
};

}  // namespace

const std::vector<SoundFormat>& all_sound_formats() {
  static const std::vector<SoundFormat> formats = [] {
    std::vector<SoundFormat> all;
    for (const FormatRow& row : rows()) all.push_back(row.format);
    return all;
  }();
  return formats;
}

std::string_view name_of(SoundFormat format) {
  return row_of(format).name;
}

std::string_view extension_of(SoundFormat format) {
  return row_of(format).extension;
}

Sound made_sound(double seconds, std::uint64_t seed, std::int64_t rate, std::int64_t channels) {
  Numbers numbers(seed);
  Sound sound{.samples = {}, .rate = rate, .channels = channels};
  const double first = 100.0 + 100.0 * numbers.next();
  const double second = 300.0 + 500.0 * numbers.next();
  const double swell = 2.0 + 3.0 * numbers.next();
  const auto frames = static_cast<std::int64_t>(seconds * static_cast<double>(rate));
  for (std::int64_t frame = 0; frame < frames; ++frame) {
    const double turn =
        2.0 * std::numbers::pi * static_cast<double>(frame) / static_cast<double>(rate);
    const double value = (0.2 * std::sin(first * turn) + 0.1 * std::sin(second * turn)) *
                         (1.2 + std::sin(swell * turn));
    for (std::int64_t channel = 0; channel < channels; ++channel) {
      const double scaled = value * 32'768.0 * (channel == 0 ? 1.0 : 0.5);
      sound.samples.push_back(static_cast<float>(std::round(scaled) / 32'768.0));
    }
  }
  return sound;
}

std::vector<std::int16_t> as_16_bits(const Sound& sound) {
  std::vector<std::int16_t> values;
  for (const float sample : sound.samples) {
    values.push_back(static_cast<std::int16_t>(std::lround(sample * 32'768.0F)));
  }
  return values;
}

void write_sound(const std::filesystem::path& path, const Sound& sound, SoundFormat format) {
  std::filesystem::create_directories(path.parent_path());
  const auto& library = sndfile_library();
  SF_INFO info{};
  info.samplerate = static_cast<int>(sound.rate);
  info.channels = static_cast<int>(sound.channels);
  info.format = row_of(format).sndfile;
  SNDFILE* file = library.open(path.c_str(), SFM_WRITE, &info);
  if (file == nullptr) throw std::runtime_error(path.string() + ": " + library.strerror(nullptr));
  const auto frames = static_cast<sf_count_t>(sound.samples.size()) / sound.channels;
  // libsndfile multiplies floats by 32,767, but shifts integers.
  const int kind = info.format & SF_FORMAT_SUBMASK;
  const bool is_integer = kind == SF_FORMAT_PCM_U8 || kind == SF_FORMAT_PCM_16 ||
                          kind == SF_FORMAT_PCM_24 || kind == SF_FORMAT_PCM_32;
  const auto written = is_integer ? library.writef_short(file, as_16_bits(sound).data(), frames)
                                  : library.writef_float(file, sound.samples.data(), frames);
  library.close(file);
  if (written != frames) throw std::runtime_error(path.string() + " was not written whole");
}

void write_text(const std::filesystem::path& path, std::string_view text) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << text;
}

std::string wav_bytes(std::span<const std::int16_t> samples, std::int64_t rate,
                      std::int64_t channels) {
  const auto data = samples.size() * 2;
  std::string bytes = "RIFF";
  put(bytes, 36 + data, 4);
  bytes += "WAVEfmt ";
  put(bytes, 16, 4);
  put(bytes, 1, 2);
  put(bytes, static_cast<std::uint64_t>(channels), 2);
  put(bytes, static_cast<std::uint64_t>(rate), 4);
  put(bytes, static_cast<std::uint64_t>(rate * channels * 2), 4);
  put(bytes, static_cast<std::uint64_t>(channels * 2), 2);
  put(bytes, 16, 2);
  bytes += "data";
  put(bytes, data, 4);
  for (const std::int16_t sample : samples) put(bytes, static_cast<std::uint16_t>(sample), 2);
  return bytes;
}

std::vector<MadeClip> made_clips(std::size_t count, std::uint64_t seed) {
  static const std::vector<std::string> kWords = {"winter",  "light",  "over",     "quiet",
                                                  "harbour", "stones", "remember", "slowly",
                                                  "green",   "paper"};
  Numbers numbers(seed);
  std::vector<MadeClip> clips;
  for (std::size_t index = 0; index < count; ++index) {
    const double seconds = 1.0 + 3.0 * numbers.next();
    std::string text = "The";
    while (static_cast<double>(text.size()) < seconds * 12.0) {
      text += " " + kWords[static_cast<std::size_t>(numbers.next() * 10.0)];
    }
    clips.push_back({.name = fmt::format("clip_{:04}", index + 1),
                     .text = text + ".",
                     .speaker = index % 2 == 0 ? "p1" : "p2",
                     .sound = made_sound(seconds, seed * 1000 + index)});
  }
  return clips;
}

std::filesystem::path make_corpus(const std::filesystem::path& folder, CorpusLayout layout,
                                  const std::vector<MadeClip>& clips, SoundFormat format) {
  Layouts layouts(folder, clips, format);
  switch (layout) {
    case CorpusLayout::LjSpeech:
      return layouts.metadata("metadata.csv", true);
    case CorpusLayout::Original:
      return layouts.metadata("metadata_train.csv", false);
    case CorpusLayout::Vctk:
      return layouts.vctk();
    case CorpusLayout::CommonVoice:
      return layouts.common_voice();
    case CorpusLayout::LibriTts:
      return layouts.libritts();
    case CorpusLayout::CoquiCsv:
      return layouts.lines("metadata.csv", "audio_file|text|speaker_name\n",
                           [](const auto& clip, const auto& audio) {
                             return fmt::format("{}|{}|{}", audio, clip.text, clip.speaker);
                           });
    case CorpusLayout::Plain:
      return layouts.lines("list.txt", "", [](const auto& clip, const auto& audio) {
        return fmt::format("{}|{}|{}|en", audio, clip.text, clip.speaker);
      });
    case CorpusLayout::NemoJsonl:
      return layouts.lines("manifest.jsonl", "", [](const auto& clip, const auto& audio) {
        const double seconds = static_cast<double>(clip.sound.samples.size()) / 22'050.0;
        return nlohmann::json{{"audio_filepath", audio},
                              {"text", clip.text},
                              {"duration", seconds},
                              {"speaker", clip.speaker}}
            .dump();
      });
    case CorpusLayout::TextFiles:
      return layouts.text_files();
  }
  throw std::logic_error("no such layout");
}

}  // namespace myxtts::test
