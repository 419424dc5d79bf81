// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "device/cuda_plugin.h"

namespace myxtts {

// The backend of the plugin. `kernels` outlives it.
std::unique_ptr<const CudaBackend> make_cuda_backend(const CudaKernels& kernels);

// A GPU as the device of a role: its streams, events, graphs and memory.
std::unique_ptr<RoleDevice> open_cuda_role_device(Role role, const RolePlan& plan);

// NCCL's communicator, as CudaBackend has it.
std::string make_nccl_id();

// Waits until all ranks have come. Throws DeviceError.
std::unique_ptr<GpuCommunicator> join_with_nccl(const std::string& id, int gpu, int rank, int size);

}  // namespace myxtts
