// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

#include "config/model_json.h"

namespace myxtts {

struct LicenceOptions {
  std::string name;       // what the user says it is; empty: what the folder says
  bool accepted = false;  // on the command line
};

// Finds the terms of the weights in `folder`, shows them and has them accepted: by the option, by
// the mark that the Python peer leaves once they were accepted there, or by asking on the terminal.
// Throws ConfigError if there are terms and nobody accepted them.
Licence settle_licence(const std::filesystem::path& folder, const LicenceOptions& options);

}  // namespace myxtts
