// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "config/memory_savers.h"
#include "config/model.h"
#include "device/plan_devices.h"

namespace myxtts {

// What a run of this network needs on its devices with clips as they usually are, for
// plan_devices().
MemoryModel usual_memory_model(const ModelConfig& model, const MemorySavers& savers = {});

}  // namespace myxtts
