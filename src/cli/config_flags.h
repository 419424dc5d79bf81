// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/command.h"
#include "config/effective_config.h"

namespace myxtts {

// The flags that set a run's configuration, the same on every command that reads one: --preset,
// --config and one for each field of the table that names the command.
class ConfigFlags {
 public:
  // Adds the flags to `app`, which must outlive this.
  explicit ConfigFlags(CLI::App& app);
  // --preset, --config and the flags of these fields alone.
  ConfigFlags(CLI::App& app, const std::vector<std::string_view>& keys);

  // What was given, once the command line was read.
  ConfigSources sources() const;

 private:
  ConfigFlags(CLI::App& app, const std::function<bool(const Field&)>& has);

  CLI::Option* preset_;
  CLI::Option* file_;
  std::vector<std::pair<const Field*, CLI::Option*>> fields_;
};

// Does `work`, and lets its errors say where a setting comes from that they name by a flag nobody
// typed: a file, a preset or the default.
int with_named_origins(const EffectiveConfig& settings, const std::function<int()>& work);

}  // namespace myxtts
