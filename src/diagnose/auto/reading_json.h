// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "diagnose/auto/calibration.h"

namespace myxtts {

// From what `myxtts profile --json` writes. Throws DataError when it is something else, or when
// nothing was measured.
PlacementReading reading_from_json(const std::string& text);

// From metrics.jsonl of a run: what its line of `step` says of the steps since the line before. How
// long a step took is not in it. Throws DataError as above.
PlacementReading reading_from_metrics(const std::string& lines, std::int64_t step);

}  // namespace myxtts
