// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "config/model.h"
#include "config/run_config.h"
#include "device/machine.h"
#include "device/plan/device_plan.h"
#include "device/plan/plan_devices.h"

namespace myxtts {

// How many numbers of a part are trained.
std::int64_t parameters_of(const ModelConfig& model, ModelPart part);

// What a run of this network needs on its devices with clips as they usually are, for
// plan_devices(). `guided`: with --guide.
MemoryModel usual_memory_model(const ModelConfig& model, const MemorySavers& savers = {},
                               bool guided = false);

// Which savers a run may use, the cheapest first; what was set is the same in each.
//
// Averages in bf16 cost no time and hardly any accuracy, so they come first; then layers that are
// computed twice, which costs time; then averages of eight bits; and last released gradients,
// where a step that is not finite can no longer be left out as a whole. Those cannot be had with
// clipping, accumulation or fp16.
std::vector<MemorySavers> saver_choices(const TrainConfig& train);

// Whether training fits into its cap, or into what its card has besides.
bool fits_by_estimate(const DevicePlan& plan);

// plan_devices() with the cheapest savers that make the run fit by estimate; its notes say what is
// saved, and why. A batch that was not set is as large as fits, and savers are used rather than let
// it fall below four clips. Throws what plan_devices() throws; about memory only where no savers
// help.
DevicePlan plan_with_savers(const RunConfig& config, const Machine& machine,
                            const ModelConfig& model, const std::string& cuda_fault = {});

}  // namespace myxtts
