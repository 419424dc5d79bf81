// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "diagnose/doctor/checklist.h"

namespace myxtts {

// Adds the rows that a run on a GPU depends on: driver, CUDA plugin, each GPU, how they are
// connected.
void add_gpu_checks(const Findings& findings, std::vector<Check>& checks);

}  // namespace myxtts
