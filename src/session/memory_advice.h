// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "config/model.h"
#include "config/train.h"
#include "device/device_plan.h"
#include "device/role_device.h"

namespace myxtts {

// Which batch would fit where the planned one did not, and the accumulation that keeps the step as
// large, by estimate: "By estimate --batch-size 4 --grad-accum 2 fits, with steps of the same
// size." Empty where even one clip would not.
std::string batch_that_fits(const DevicePlan& plan, const ModelConfig& model,
                            const TrainConfig& train);

// Turns an error of LibTorch in the model role's work into ours and throws it; one about memory
// with that advice. Call it in a catch block.
[[noreturn]] void rethrow_with_advice(const RoleDevice& device, const DevicePlan& plan,
                                      const ModelConfig& model, const TrainConfig& train);

}  // namespace myxtts
