// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "train/optimiser.h"
#include "train/parameters.h"

namespace myxtts {

// Makes every backward pass update each parameter as soon as its gradient is there, and let go of
// the gradient. The optimiser outlives the parameters' next backward pass.
void release_gradients(Parameters& parameters, Optimiser& optimiser);

}  // namespace myxtts
