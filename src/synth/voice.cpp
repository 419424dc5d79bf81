// SPDX-License-Identifier: Apache-2.0
#include "synth/voice.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <string_view>
#include <vector>

#include <ATen/ATen.h>
#include <fmt/ranges.h>

#include "audio/resample.h"
#include "base/error.h"
#include "base/message_text.h"
#include "model/reference_voice.h"
#include "run/model_folder.h"
#include "weights/tensor_files.h"

namespace myxtts {
namespace {

constexpr double kEvenPeak = 0.75;
constexpr float kSilentPeak = 1e-4F;  // about 3 steps of 16 bits
constexpr std::int64_t kWindow = 2048;
constexpr std::int64_t kHop = 512;
constexpr double kQuietestRms = 1e-5;

double seconds(const at::Tensor& clip, std::int64_t sample_rate) {
  return static_cast<double>(clip.size(0)) / static_cast<double>(sample_rate);
}

constexpr double kMostSeconds = 86'400;

void require_length(const at::Tensor& clip, std::int64_t sample_rate,
                    const std::filesystem::path& path, const char* after) {
  if (clip.size(0) >= shortest_reference_piece(sample_rate)) return;
  throw DataError(fmt::format("{} is {:.2f} s long{}; at least 0.33 s are needed to hear a voice.",
                              path.string(), seconds(clip, sample_rate), after));
}

}  // namespace

ReferenceLengths reference_lengths(const ReferenceConfig& config, std::int64_t sample_rate) {
  const auto samples = [sample_rate](double seconds) {
    return static_cast<std::int64_t>(std::llround(seconds * static_cast<double>(sample_rate)));
  };
  const auto is_length = [](double seconds) { return std::abs(seconds) <= kMostSeconds; };
  if (!is_length(config.max_ref_len) || !is_length(config.gpt_cond_len) ||
      !is_length(config.gpt_cond_chunk_len) ||
      samples(config.gpt_cond_chunk_len) < shortest_reference_piece(sample_rate)) {
    throw DataError(fmt::format(
        "The model's config.json takes {} s of a reference, {} s of them for latents in pieces of "
        "{} s; pieces have 0.33 s at least, and nothing more than a day.",
        config.max_ref_len, config.gpt_cond_len, config.gpt_cond_chunk_len));
  }
  return {.of_each = samples(config.max_ref_len),
          .for_latents = samples(config.gpt_cond_len),
          .latents_piece = samples(config.gpt_cond_chunk_len)};
}

at::Tensor read_reference(const std::filesystem::path& path, std::int64_t sample_rate,
                          std::int64_t most_samples, bool even_loudness,
                          std::optional<double> trim_db) {
  auto clip = read_clip(path, sample_rate);
  require_length(clip, sample_rate, path, "");
  clip = clip.narrow(0, 0, std::min(most_samples, clip.size(0)));
  const auto peak = clip.abs().max();
  const auto swing = (clip.max() - clip.min()) / 2;  // a level that stands still is silence, too
  if (swing.item<float>() < kSilentPeak) {
    throw DataError(fmt::format(
        "{} is silent in its first {:.1f} s; a voice must be heard in a reference clip.",
        path.string(), seconds(clip, sample_rate)));
  }
  if (even_loudness) clip = clip / peak * kEvenPeak;
  if (trim_db) {
    clip = trim_silence(clip, *trim_db);
    require_length(clip, sample_rate, path, " without its quiet ends (--trim-db)");
  }
  return clip.contiguous();
}

at::Tensor trim_silence(const at::Tensor& clip, double db) {
  const auto padded = at::constant_pad_nd(clip, {kWindow / 2, kWindow / 2});
  const auto rms = padded.unfold(0, kWindow, kHop).square().mean(1).sqrt();  // [frames]
  const auto level = rms.clamp_min(kQuietestRms).log10() * 20.0;
  const auto loud = (level - level.max()).gt(-db).nonzero().flatten();
  if (loud.numel() == 0) return clip.narrow(0, 0, 0);
  const auto first = loud[0].item<std::int64_t>() * kHop;
  const auto last = std::min(clip.size(0), (loud[-1].item<std::int64_t>() + 1) * kHop);
  return clip.narrow(0, first, last - first);
}

namespace {

constexpr const char* kLatents = "gpt_cond_latent";
constexpr const char* kSpeaker = "speaker_embedding";

at::Tensor take(const TensorsByName& tensors, const std::string& name, at::IntArrayRef shape,
                const std::filesystem::path& path) {
  const auto found = tensors.find(name);
  if (found == tensors.end()) {
    throw DataError(
        fmt::format("{} is not a voice: it has no tensor {}. Make one with: myxtts "
                    "synthesize --reference CLIP --save-voice {}",
                    path.string(), name, path.string()));
  }
  const at::Tensor values = found->second.squeeze();
  if (values.sizes() != shape || !values.is_floating_point()) {
    throw DataError(fmt::format(
        "{} holds a voice for another size of model: its {} is {}, this model's {}. "
        "Make one for this model with --reference CLIP --save-voice FILE.",
        path.string(), name, fmt::join(values.sizes(), " x "), fmt::join(shape, " x ")));
  }
  require_finite(name, values, path);
  return values.to(at::kFloat).contiguous();
}

Voice voice_of(const TensorsByName& tensors, const std::string& prefix, const ModelConfig& config,
               const std::filesystem::path& path) {
  return {.latents = take(tensors, prefix + kLatents,
                          {config.gpt.perceiver_latents, config.gpt.width}, path),
          .speaker = take(tensors, prefix + kSpeaker, {config.decoder.speaker_dim}, path)};
}

std::vector<std::string> speaker_names(const TensorsByName& tensors) {
  std::vector<std::string> names;
  const std::string ending = fmt::format(".{}", kLatents);
  for (const auto& [name, tensor] : tensors) {
    if (name.ends_with(ending)) names.push_back(name.substr(0, name.size() - ending.size()));
  }
  return names;
}

}  // namespace

void write_voice(const std::filesystem::path& path, const Voice& voice) {
  write_tensors(path, {{kLatents, voice.latents.unsqueeze(0)},
                       {kSpeaker, voice.speaker.unsqueeze(0).unsqueeze(2)}});
}

namespace {

// How the files begin that libsndfile and people's phones write.
bool is_recording(const std::filesystem::path& path) {
  std::array<char, 12> start{};
  std::ifstream(path, std::ios::binary).read(start.data(), start.size());
  const std::string_view text(start.data(), start.size());
  for (const std::string_view mark : {"RIFF", "RF64", "fLaC", "OggS", "ID3", "\xff\xfb", "\xff\xf3",
                                      "\xff\xf1", "\x1a\x45\xdf\xa3", "FORM", "caff"}) {
    if (text.starts_with(mark)) return true;
  }
  return text.substr(4).starts_with("ftyp");  // .m4a, .mp4
}

}  // namespace

Voice read_voice(const std::filesystem::path& path, const ModelConfig& config) {
  if (is_recording(path)) {
    throw DataError(fmt::format(
        "--voice {} is a recording, and --voice takes a file that --save-voice wrote. To speak in "
        "the voice of a recording, type --reference {} in its place.",
        path.string(), shell_word(path.string())));
  }
  return voice_of(read_tensors(path), "", config, path);
}

std::vector<std::string> speaker_names(const std::filesystem::path& model_folder) {
  const auto path = model_folder / files::kVoices;
  if (!std::filesystem::exists(path)) return {};
  return speaker_names(read_tensors(path));
}

Voice read_speaker(const std::filesystem::path& model_folder, const std::string& name,
                   const ModelConfig& config) {
  const auto path = model_folder / files::kVoices;
  if (!std::filesystem::exists(path)) {
    throw DataError(
        fmt::format("{} came without voices of its own ({} is missing), so there is no speaker "
                    "\"{}\"; give a clip with --reference.",
                    model_folder.string(), files::kVoices, name));
  }
  const auto tensors = read_tensors(path);
  if (!tensors.contains(name + "." + kLatents)) {
    throw DataError(fmt::format("{} has no speaker \"{}\"; it has {}.", path.string(), name,
                                fmt::join(speaker_names(tensors), ", ")));
  }
  return voice_of(tensors, name + ".", config, path);
}

}  // namespace myxtts
