// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <CLI/App.hpp>

#include "config/effective_config.h"

namespace myxtts {

// The flags that set a run's configuration, the same on every command that reads one: --preset,
// --config and one for each field of the table that names the command.
class ConfigFlags {
 public:
  // Adds the flags to `app`, which must outlive this.
  explicit ConfigFlags(CLI::App& app);

  // What was given, once the command line was read.
  ConfigSources sources() const;

 private:
  CLI::Option* preset_;
  CLI::Option* file_;
  std::vector<std::pair<const Field*, CLI::Option*>> fields_;
};

}  // namespace myxtts
