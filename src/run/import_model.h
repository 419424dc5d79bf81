// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "config/model_json.h"

namespace myxtts {

// Finds the terms of the weights in `folder`, shows them and has them accepted: by `accepted`, by
// the mark that coqui-tts leaves once they were accepted there, or by asking on the terminal.
// `given_name` is what the user calls them; empty: what the folder says. Throws ConfigError if
// there are terms and nobody accepted them.
Licence accept_licence(const std::filesystem::path& folder, const std::string& given_name,
                       bool accepted);

// Makes the model folder `out` of a folder in the public layout, or with a trainer's checkpoint.
// `accept` gives the licence once the files are known to be sound. The folder appears whole or not
// at all; `replace` replaces one that is there. Throws Interrupted, where somebody looks for that.
void import_model(const std::filesystem::path& from, const std::filesystem::path& out, bool replace,
                  const std::function<Licence()>& accept);

}  // namespace myxtts
