// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/progress.h"
#include "config/model.h"
#include "model/checkpoint_specs.h"
#include "model/tensor_spec.h"
#include "weights/checkpoint_names.h"
#include "weights/pth.h"
#include "weights/safetensors.h"

namespace myxtts {

// The tensors of one of our files and where in somebody's .pth file they come from. Nothing is
// copied until write().
class CheckpointSource {
 public:
  explicit CheckpointSource(std::shared_ptr<const PthReader> file) : file_(std::move(file)) {}

  // Throws DataError if `value` is not a tensor, or the name is taken.
  void add(const std::string& name, PickleRef value);

  // The tensors of one part of a state dict, renamed as the public files have them.
  void add_part(PickleRef state_dict, CheckpointPart part);

  bool empty() const { return tensors_.empty(); }
  const PthTensor* find(const std::string& name) const;
  FoundTensors found() const;
  std::uint64_t bytes() const;

  // Streams the tensors of `specs` into a safetensors file, in fp32 (counters in int64, 0 where the
  // source has none). The tensors fit the specs. Throws Interrupted, where somebody looks for that.
  void write(const std::filesystem::path& path, const TensorSpecs& specs, Progress& progress) const;

 private:
  struct Source {
    PickleRef value = 0;
    PthTensor tensor;
  };

  std::shared_ptr<const PthReader> file_;
  std::map<std::string, Source, std::less<>> tensors_;
};

// Whether a PublicFolder could be opened there: it has a checkpoint.
bool holds_public_model(const std::filesystem::path& folder);

// The weights in a folder of the public layout or of the Python trainer, found and opened; nothing
// is copied.
class PublicFolder {
 public:
  // Throws DataError if there is no checkpoint, or more is wrong with one than an inert record.
  explicit PublicFolder(const std::filesystem::path& folder);

  const std::string& checkpoint_path() const { return checkpoint_path_; }
  const CheckpointSource& model() const { return *model_; }
  const CheckpointSource* dvae() const { return dvae_ ? &*dvae_ : nullptr; }  // null: there is none

  // Where mel_stats.pth and the checkpoint's own statistics differ, says so in the log.
  void compare_mel_stats() const;

  // The voices of speakers_xtts.pth as "NAME.gpt_cond_latent" and "NAME.speaker_embedding"; empty
  // without that file. The views live as long as this object.
  TensorViews voices() const;

 private:
  void open_dvae(PickleRef state_dict, std::shared_ptr<const PthReader> checkpoint);

  std::filesystem::path folder_;
  std::string checkpoint_path_;
  std::optional<CheckpointSource> model_;
  std::optional<CheckpointSource> dvae_;
  std::unique_ptr<const PthReader> voices_;
};

// Throws DataError if coqui-tts, which fixes most shapes in its code, could not hold a model
// of these sizes; lists every field that stands in the way. `model` opens the message.
void require_coqui_can_hold(const ModelConfig& config, const std::string& model);
bool coqui_can_hold(const ModelConfig& config);

}  // namespace myxtts
