// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "device/role_device.h"
#include "model/named_tensors.h"
#include "train/gpt/gpt_training.h"

namespace myxtts::test {

// The CPU with one thread.
std::unique_ptr<RoleDevice> one_cpu();

// fp32 without dropout.
GptTrainingSettings plain_settings();

// Equal names, and every tensor equal to the last bit.
bool same_tensors(const NamedTensors& a, const NamedTensors& b);

NamedTensors cloned(const NamedTensors& tensors);

}  // namespace myxtts::test
