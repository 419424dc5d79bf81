// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "diagnose/profile/profile.h"
#include "diagnose/report/report.h"

namespace myxtts {

// Steps of one batch that the short training of the last step is asked for.
inline constexpr std::int64_t kPipelineSteps = 20;

// That all batches of a short training through the real pipeline came, that they were ready when
// the model device wanted them or else the data device was busy making them, and that both devices
// worked at the same time.
Checks check_pipeline(const TrialReading& trial);

}  // namespace myxtts
