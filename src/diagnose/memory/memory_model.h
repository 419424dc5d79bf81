// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "config/memory_savers.h"
#include "config/model.h"
#include "config/train.h"
#include "device/plan_devices.h"

namespace myxtts {

// What a run of this network needs on its devices with clips as they usually are, for
// plan_devices(). `guided`: with --guide.
MemoryModel usual_memory_model(const ModelConfig& model, const MemorySavers& savers = {},
                               bool guided = false);

// The same for a stage other than the GPT's, from the sizes of its networks: counted more roughly,
// for windows of the usual length.
MemoryModel stage_memory_model(const ModelConfig& model, const TrainConfig& train);

}  // namespace myxtts
