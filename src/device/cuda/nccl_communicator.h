// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "device/gpu_communicator.h"

namespace myxtts {

std::string make_nccl_id();

// Waits until all ranks have come. Throws DeviceError.
std::unique_ptr<GpuCommunicator> join_with_nccl(const GpuRankPlace& place);

}  // namespace myxtts
