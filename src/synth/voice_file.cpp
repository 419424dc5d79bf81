// SPDX-License-Identifier: Apache-2.0
#include "synth/voice_file.h"

#include <vector>

#include <ATen/ATen.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "run/model_folder.h"
#include "weights/tensor_files.h"

namespace myxtts {
namespace {

constexpr const char* kLatents = "gpt_cond_latent";
constexpr const char* kSpeaker = "speaker_embedding";

at::Tensor take(const TensorsByName& tensors, const std::string& name, std::int64_t numbers,
                const std::filesystem::path& path) {
  const auto found = tensors.find(name);
  if (found == tensors.end()) {
    throw DataError(
        fmt::format("{} is not a voice: it has no tensor {}. Make one with: myxtts "
                    "synthesize --reference CLIP --save-voice {}",
                    path.string(), name, path.string()));
  }
  if (found->second.numel() != numbers || !found->second.is_floating_point()) {
    throw DataError(fmt::format(
        "{} holds a voice for another size of model: its {} has {} numbers, this model's {}.",
        path.string(), name, found->second.numel(), numbers));
  }
  return found->second.to(at::kFloat);
}

Voice voice_of(const TensorsByName& tensors, const std::string& prefix, const ModelConfig& config,
               const std::filesystem::path& path) {
  const auto latents = config.gpt.perceiver_latents;
  const auto width = config.gpt.width;
  return {.latents = take(tensors, prefix + kLatents, latents * width, path).view({latents, width}),
          .speaker = take(tensors, prefix + kSpeaker, config.decoder.speaker_dim, path).flatten()};
}

std::vector<std::string> speaker_names(const TensorsByName& tensors) {
  std::vector<std::string> names;
  const std::string ending = std::string(".") + kLatents;
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

Voice read_voice(const std::filesystem::path& path, const ModelConfig& config) {
  return voice_of(read_tensors(path), "", config, path);
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
