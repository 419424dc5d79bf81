// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "data/index/corpus_scan.h"

namespace myxtts {

// The sentence for a corpus whose texts are written in a script that their language does not use,
// with the flag that mends it; empty where no tenth of them is. `index` is that of the request.
std::string warning_of_scripts(const ScanRequest& request, const ClipIndex& index);

}  // namespace myxtts
