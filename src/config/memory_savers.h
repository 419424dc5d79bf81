// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "config/train.h"

namespace myxtts {

// What trades time for memory; each decided, nothing is "auto" here.
struct MemorySavers {
  bool recompute = false;  // of each layer, in the backward pass
  Moments moments = Moments::Fp32;
  bool release_gradients = false;

  friend bool operator==(const MemorySavers&, const MemorySavers&) = default;
};

}  // namespace myxtts
