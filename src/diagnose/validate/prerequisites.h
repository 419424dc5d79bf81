// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "diagnose/doctor/checklist.h"
#include "diagnose/validate/verdict.h"

namespace myxtts {

// The rows of doctor's checklist that a run depends on: everything that the CPU needs and, where
// `with_gpu`, driver, plugin and cards; those are skipped otherwise. What a language alone needs is
// left to doctor.
CheckResults check_prerequisites(const std::vector<Check>& checklist, bool with_gpu);

}  // namespace myxtts
