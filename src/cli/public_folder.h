// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "cli/checkpoint_source.h"
#include "weights/safetensors.h"

namespace myxtts {

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

}  // namespace myxtts
