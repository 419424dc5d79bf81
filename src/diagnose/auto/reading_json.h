// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "diagnose/auto/calibration.h"

namespace myxtts {

// From what `myxtts profile --json` writes. Throws DataError when it is something else, or when
// nothing was measured.
PlacementReading reading_from_json(const std::string& text);

}  // namespace myxtts
