// SPDX-License-Identifier: Apache-2.0
#include "cli/public_folder.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/log.h"
#include "run/model_folder.h"
#include "weights/byte_reader.h"

namespace myxtts {
namespace {

namespace fs = std::filesystem;

// 12 for "checkpoint_12.pth" with the prefix "checkpoint_"; nothing for other names.
std::optional<std::int64_t> step_of(std::string_view name, std::string_view prefix) {
  constexpr std::string_view kSuffix = ".pth";
  if (!name.starts_with(prefix) || !name.ends_with(kSuffix)) return std::nullopt;
  name = name.substr(prefix.size(),
                     name.size() - std::min(name.size(), prefix.size() + kSuffix.size()));
  std::int64_t step = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), step);
  if (error != std::errc() || end != name.data() + name.size()) return std::nullopt;
  return step;
}

std::optional<fs::path> newest(const fs::path& folder, std::string_view prefix) {
  std::optional<fs::path> found;
  std::int64_t highest = -1;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const auto step = step_of(entry.path().filename().string(), prefix);
    if (step && *step > highest) {
      highest = *step;
      found = entry.path();
    }
  }
  return found;
}

// model.pth as published; otherwise what a trainer left: its best model, or its last checkpoint.
fs::path find_checkpoint(const fs::path& folder) {
  if (!fs::is_directory(folder)) {
    throw DataError(
        fmt::format("{} is not a folder; give the folder of model.pth, config.json and "
                    "vocab.json with --from.",
                    folder.string()));
  }
  for (const char* name : {files::kPublicModel, "best_model.pth"}) {
    if (fs::exists(folder / name)) return folder / name;
  }
  for (const char* prefix : {"best_model_", "checkpoint_"}) {
    if (const auto found = newest(folder, prefix)) return *found;
  }
  throw DataError(fmt::format("{} holds no model.pth, best_model.pth or checkpoint_STEP.pth.",
                              folder.string()));
}

PickleRef state_dict_of(const PthReader& file) {
  const PickleRef root = file.tree().root();
  return file.tree().find(root, "model").value_or(root);
}

}  // namespace

PublicFolder::PublicFolder(const fs::path& folder) : folder_(folder) {
  const fs::path path = find_checkpoint(folder);
  checkpoint_path_ = path.string();
  const auto checkpoint = std::make_shared<const PthReader>(path);
  const PickleRef state_dict = state_dict_of(*checkpoint);
  model_.emplace(checkpoint);
  model_->add_part(state_dict, CheckpointPart::Model);
  open_dvae(state_dict, checkpoint);
  if (const fs::path voices = folder / files::kPublicVoices; fs::exists(voices)) {
    voices_ = std::make_unique<const PthReader>(voices);
  }
}

// dvae.pth has no wrapper and no prefix; a trainer's checkpoint carries the DVAE along.
void PublicFolder::open_dvae(PickleRef state_dict, std::shared_ptr<const PthReader> checkpoint) {
  const fs::path path = folder_ / files::kPublicDvae;
  if (fs::exists(path)) {
    const auto file = std::make_shared<const PthReader>(path);
    dvae_.emplace(file);
    for (const auto& [name, value] : file->items(state_dict_of(*file))) {
      dvae_->add(std::string(name), value);
    }
    return;
  }
  dvae_.emplace(std::move(checkpoint));
  dvae_->add_part(state_dict, CheckpointPart::Dvae);
  if (dvae_->empty()) dvae_.reset();
}

void PublicFolder::compare_mel_stats() const {
  const fs::path path = folder_ / files::kPublicMelStats;
  const PthTensor* ours = model_->find("mel_stats");
  if (!fs::exists(path) || ours == nullptr) return;
  const PthReader file(path);
  std::vector<std::byte> buffer;
  std::vector<std::byte> our_buffer;
  const TensorView theirs = dense(file.tensor(file.tree().root(), "mel_stats"), buffer);
  const TensorView own = dense(*ours, our_buffer);
  if (theirs.dtype != own.dtype || theirs.shape != own.shape ||
      !std::ranges::equal(theirs.bytes, own.bytes)) {
    log_warning("import", "{} differs from the mel_stats in {}; the latter are taken.",
                path.string(), checkpoint_path_);
  }
}

TensorViews PublicFolder::voices() const {
  TensorViews found;
  if (!voices_) return found;
  const auto refuse = [this](std::string_view name) {
    throw DataError(
        fmt::format("{} has no dense fp32 gpt_cond_latent and speaker_embedding for '{}'.",
                    voices_->file().path().string(), printable(name)));
  };
  for (const auto& [name, voice] : voices_->items(voices_->tree().root())) {
    for (const char* part : {"gpt_cond_latent", "speaker_embedding"}) {
      const auto value = voices_->tree().find(voice, part);
      if (!value) refuse(name);
      const PthTensor tensor = voices_->tensor(*value, name);
      if (tensor.dtype != Dtype::F32 || !tensor.is_dense()) refuse(name);
      std::vector<std::byte> unused;
      found[fmt::format("{}.{}", name, part)] = dense(tensor, unused);
    }
  }
  return found;
}

}  // namespace myxtts
