// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "diagnose/doctor/findings.h"

namespace myxtts {

// What the LibTorch loaded into this process says of itself.
LibTorchFacts libtorch_facts();

}  // namespace myxtts
