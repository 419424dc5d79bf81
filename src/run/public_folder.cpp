// SPDX-License-Identifier: Apache-2.0
#include "run/public_folder.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <fmt/ranges.h>

#include "base/error.h"
#include "base/interruption.h"
#include "base/log.h"
#include "base/message_text.h"
#include "config/model_json.h"
#include "run/model_folder.h"
#include "weights/byte_reader.h"
#include "weights/dtype.h"
#include "weights/safetensors.h"

namespace myxtts {

void CheckpointSource::add(const std::string& name, PickleRef value) {
  if (!tensors_.emplace(name, Source{value, file_->tensor(value, name)}).second) {
    throw DataError(fmt::format("{} holds '{}' twice, under two names.",
                                file_->file().path().string(), printable(name)));
  }
}

void CheckpointSource::add_part(PickleRef state_dict, CheckpointPart part) {
  for (const auto& [name, value] : file_->items(state_dict)) {
    if (const auto translated = public_name(name, part)) add(*translated, value);
  }
}

const PthTensor* CheckpointSource::find(const std::string& name) const {
  const auto found = tensors_.find(name);
  return found == tensors_.end() ? nullptr : &found->second.tensor;
}

FoundTensors CheckpointSource::found() const {
  FoundTensors found;
  for (const auto& [name, source] : tensors_) {
    found[name] = {source.tensor.shape, is_floating(source.tensor.dtype)};
  }
  return found;
}

std::uint64_t CheckpointSource::bytes() const {
  std::uint64_t sum = 0;
  for (const auto& [name, source] : tensors_) sum += source.tensor.storage.size();
  return sum;
}

void CheckpointSource::write(const std::filesystem::path& path, const TensorSpecs& specs,
                             Progress& progress) const {
  TensorKinds kinds;
  for (const TensorSpec& spec : specs) {
    kinds[spec.name] = {spec.role == TensorRole::Counter ? Dtype::I64 : Dtype::F32, spec.shape};
  }
  SafetensorsWriter writer(path, kinds, {{"format", "pt"}});
  std::vector<std::byte> dense_buffer;
  std::vector<std::byte> float_buffer;
  for (const std::string& name : writer.order()) {
    const auto source = tensors_.find(name);
    if (source == tensors_.end()) {
      const TensorKind& kind = kinds.at(name);
      writer.write(std::vector<std::byte>(*dense_bytes(kind.dtype, kind.shape)));
      continue;
    }
    const PthTensor& tensor = source->second.tensor;
    file_->verify(source->second.value, name);
    const TensorView view = dense(tensor, dense_buffer);
    const bool counts = kinds.at(name).dtype == Dtype::I64;
    if (counts ? view.dtype != Dtype::I64 : !is_floating(view.dtype)) {
      throw DataError(
          fmt::format("The checkpoint's {} has numbers of another kind than the network "
                      "has there.",
                      name));
    }
    writer.write(is_floating(view.dtype) ? as_fp32(view, float_buffer).bytes : view.bytes);
    file_->file().forget(tensor.storage);
    progress.advance(tensor.storage.size());
    stop_if_interrupted();
  }
  writer.commit();
}

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
std::optional<fs::path> checkpoint_in(const fs::path& folder) {
  if (!fs::is_directory(folder)) return std::nullopt;
  for (const char* name : {files::kPublicModel, "best_model.pth"}) {
    if (fs::exists(folder / name)) return folder / name;
  }
  for (const char* prefix : {"best_model_", "checkpoint_"}) {
    if (const auto found = newest(folder, prefix)) return found;
  }
  return std::nullopt;
}

fs::path find_checkpoint(const fs::path& folder) {
  if (!fs::is_directory(folder)) {
    throw DataError(
        fmt::format("{} is not a folder; give the folder of model.pth, config.json and "
                    "vocab.json with --from.",
                    folder.string()));
  }
  if (const auto found = checkpoint_in(folder)) return *found;
  for (const char* of_run : {"", "best", "latest"}) {
    if (!fs::exists(folder / of_run / files::kModel)) continue;
    throw DataError(
        fmt::format("{} was imported or trained here already; give it to --model or --init as it "
                    "is.",
                    folder.string()));
  }
  throw DataError(fmt::format(
      "{} holds no model.pth, best_model.pth or checkpoint_STEP.pth; name the folder that does "
      "with --from, or type myxtts pull xtts-v2 to have the public model fetched and imported.",
      folder.string()));
}

PickleRef state_dict_of(const PthReader& file) {
  const PickleRef root = file.tree().root();
  return file.tree().find(root, "model").value_or(root);
}

}  // namespace

bool holds_public_model(const fs::path& folder) {
  return checkpoint_in(folder).has_value();
}

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

namespace {

std::vector<std::string> obstacles(const ModelConfig& config) {
  std::vector<std::string> found;
  const auto compare = [&](const std::string& field, const auto& ours, const auto& public_value) {
    if (ours != public_value) {
      found.push_back(fmt::format("{} {} in place of {}", field, ours, public_value));
    }
  };
  ModelConfig ours = config;
  ModelConfig fixed;
  for (const NetworkField& field : network_fields()) {
    const std::string name = fmt::format("{}.{}", field.network, field.key);
    if (field.list != nullptr) {
      compare(name, *field.list(ours), *field.list(fixed));
    } else {
      compare(name, *field.number(ours), *field.number(fixed));
    }
  }
  compare("decoder.speaker_dim", ours.decoder.speaker_dim, fixed.decoder.speaker_dim);
  return found;
}

}  // namespace

bool coqui_can_hold(const ModelConfig& config) {
  return obstacles(config).empty();
}

void require_coqui_can_hold(const ModelConfig& config, const std::string& model) {
  const auto found = obstacles(config);
  if (found.empty()) return;
  throw DataError(fmt::format(
      "{} cannot be exported: coqui-tts loads the sizes normal, big and xtts-v2. Train one of them "
      "with --model-size to export it; this model has {}.",
      model, fmt::join(found, ", ")));
}

}  // namespace myxtts
