// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "diagnose/scaling/step_time.h"

namespace myxtts {

// The step of one H200 in bf16 with clips of ten seconds. That of xtts-v2 was measured with batches
// of 3 to 64 (docs/results/training-speed.md), and the line through them is taken; other sizes
// follow from it: what grows with clips and the update by their parameters, what is fixed by their
// layers.
RankStep reference_step(const std::string& model_size);

// The same on another device, which takes `measured_ms` for a whole step of so many clips: every
// part is stretched alike.
RankStep stretched(const RankStep& reference, std::int64_t clips, double measured_ms);

// How many numbers of that size are trained.
std::int64_t trained_parameters(const std::string& model_size);

}  // namespace myxtts
