// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "device/gpu_communicator.h"
#include "device/role_device.h"

namespace myxtts {

// A GPU as CUDA's runtime sees it: numbered within CUDA_VISIBLE_DEVICES.
struct CudaDevice {
  int index = 0;
  std::string name = {};
  std::string pci_bus_id = {};
  int multiprocessors = 0;
  int capability_major = 0;
  int capability_minor = 0;
  std::int64_t memory_bytes = 0;
};

// What the CUDA plugin does for the rest of the program, which knows nothing of CUDA. One object
// for the life of the process; every method may throw DeviceError and is safe from any thread.
class CudaBackend {
 public:
  virtual ~CudaBackend() = default;

  // Versions as CUDA counts them: 13000 is 13.0.
  virtual int runtime_version() const = 0;
  virtual int driver_version() const = 0;

  virtual std::vector<CudaDevice> devices() const = 0;

  // How many GPUs LibTorch itself can compute on; equal to devices().size() when all is well.
  virtual int libtorch_device_count() const = 0;

  // Runs a kernel of ours on the device and checks its result. Throws DeviceError when either
  // fails.
  virtual void self_test(int device) const = 0;

  // Opens the GPU of a role: its streams, on a part of the multiprocessors where the plan says so,
  // and its memory, counted and capped.
  virtual std::unique_ptr<RoleDevice> open_role(Role role, const RolePlan& plan) const = 0;

  // The multiprocessors that a kernel on `stream` runs on, ascending: by a probe that fills all it
  // can get. Waits for the device.
  virtual std::vector<int> multiprocessors_of(const Stream& stream) const = 0;

  // The role that took the memory of a GPU in which `address` is; null: none did. Good as long as
  // the role's device.
  virtual const RoleMemory* owner_of(const void* address) const = 0;

  // A name for a new communicator, which one rank makes for all.
  virtual std::string make_communicator_id() const = 0;

  // Waits until the GPUs of all ranks have come.
  virtual std::unique_ptr<GpuCommunicator> join_gpus(const GpuRankPlace& place) const = 0;
};

// The one symbol the program looks for in the plugin. The plugin answers null when it was built for
// another version of this interface.
inline constexpr int kCudaInterface = 5;
inline constexpr const char* kCudaEntryPoint = "myxtts_cuda_backend";
using CudaEntryPoint = CudaBackend* (*)(int interface_version);

}  // namespace myxtts
