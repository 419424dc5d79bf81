// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "base/scratch_folder.h"
#include "config/data.h"
#include "device/device_plan.h"

namespace myxtts {

// What a profile is measured on: the corpora that were named, with their indexes in the user's own
// folder, or one that is generated, which is gone at the end.
class ProfileCorpus {
 public:
  // Throws DataError, ConfigError.
  ProfileCorpus(const DataConfig& data, const DevicePlan& plan);

  const DataConfig& settings() const { return settings_; }
  std::string name() const;  // "generated", or the folders

 private:
  DataConfig settings_;
  std::optional<ScratchFolder> generated_;
};

}  // namespace myxtts
