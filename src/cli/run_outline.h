// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "config/effective_config.h"
#include "device/device_plan.h"

namespace myxtts {

// What can be known of a run's clips before it begins.
struct RunOutline {
  EffectiveConfig settings;  // as given, and where a vocabulary was learnt, with its file
  std::string corpus = {};   // fingerprint
  std::int64_t visits = 0;   // of clips, in an epoch

  // The share of the run's steps that its first way through the clips takes.
  double first_epoch_share(const DevicePlan& plan) const;
};

struct OutlineFolders {
  std::filesystem::path scratch;  // for a vocabulary that was learnt; exists
  std::filesystem::path indexes;  // of corpora, unless --cache-dir names a folder
};

// Reads the corpora, which scans them where that is needed. The vocabulary is that of `model`, of
// --init or --vocab, or it is learnt: once, and not by each process that is given the settings.
// Shows progress. Throws DataError, ConfigError.
RunOutline outline_run(EffectiveConfig settings, const std::optional<std::filesystem::path>& model,
                       const OutlineFolders& folders);

}  // namespace myxtts
