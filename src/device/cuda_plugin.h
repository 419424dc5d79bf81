// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "device/role_device.h"
#include "device/stream.h"

namespace myxtts {

enum class GpuNumberType { Fp32, Fp16, Bf16, Byte };

// Numbers in the memory of a GPU, one after another.
struct GpuArray {
  void* data = nullptr;
  std::size_t count = 0;
  GpuNumberType type = GpuNumberType::Byte;
};

// The GPUs of several ranks, joined: NCCL's communicator. Each rank has one object for its GPU, and
// queues the same calls of the same sizes in the same order, on streams of that GPU.
//
// Calls may stand in a graph; graphs that hold some must be gone before the object is. One thread;
// abort() is any other's.
class GpuCommunicator {
 public:
  virtual ~GpuCommunicator() = default;

  // The sum over all ranks, in place, in the arithmetic of the numbers.
  virtual void sum(const Stream& stream, const GpuArray& numbers) = 0;

  // `parts[i]` of rank i for all ranks; further ranks have nothing to give.
  virtual void share(const Stream& stream, std::span<const GpuArray> parts) = 0;

  // Ends what waits on the GPU for other ranks, with any result. Nothing may be queued afterwards.
  virtual void abort() noexcept = 0;
};

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

struct CudaKernels;  // kernels/cuda_kernels.h

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

  // The name of a new communicator, which one rank makes for all.
  virtual std::string make_communicator_id() const = 0;

  // Joins LibTorch's GPU `gpu` to the communicator `id`, as rank `rank` of `size`. Waits until all
  // ranks have joined.
  virtual std::unique_ptr<GpuCommunicator> join_gpus(const std::string& id, int gpu, int rank,
                                                     int size) const = 0;

  // The functions that compute.
  virtual const CudaKernels& kernels() const = 0;
};

// The one symbol the program looks for in the plugin. The plugin answers null when it was built for
// another version of this interface.
inline constexpr int kCudaInterface = 6;
inline constexpr const char* kCudaEntryPoint = "myxtts_cuda_backend";
using CudaEntryPoint = const CudaBackend* (*)(int interface_version);

// The oldest driver that runs programs of CUDA 13.0.
inline constexpr int kMinimumDriver = 580;

// The result of the attempt to open the plugin.
struct CudaPlugin {
  std::filesystem::path path = {};
  bool present = false;     // the file is there
  std::string reason = {};  // why there is no backend; empty: there is one
  std::string remedy = {};  // what to type then
  const CudaBackend* backend = nullptr;
};

// Where plugin and driver are looked for: libmyxtts_cuda.so beside libmyxtts.so, and libcuda.so.1;
// the environment variables MYXTTS_CUDA_PLUGIN and MYXTTS_CUDA_DRIVER name others.
std::filesystem::path cuda_plugin_path();
std::string cuda_driver_library();

// Checks whether plugin and driver are there and keeps neither open: CUDA is not started.
CudaPlugin find_cuda_plugin(const std::filesystem::path& plugin = cuda_plugin_path(),
                            const std::string& driver = cuda_driver_library());

// Opens the plugin if a driver is there. What it opened stays open.
CudaPlugin open_cuda_plugin(const std::filesystem::path& plugin = cuda_plugin_path(),
                            const std::string& driver = cuda_driver_library());

// Why CUDA cannot be used and what to do about it, for a sentence that names the CPU at its end
// ("the CUDA plugin is not built: ... Type: ..."); empty when plugin and driver are there.
std::string cuda_fault(const CudaPlugin& plugin);

// The program's plugin, opened by the first call (half a second where there is a driver). LibTorch
// looks for CUDA once: call this before it is asked to. Safe from any thread.
//
// Only what computes on a GPU calls it, and after the visible devices were set: see
// device/plan/gpu_choice.h.
const CudaPlugin& cuda_plugin();

// Whether cuda_plugin() was called.
bool cuda_plugin_is_open();

// For code that was asked to use a GPU: throws DeviceError with the reason and the remedy when CUDA
// cannot be used.
const CudaBackend& require_cuda();
const CudaBackend& require_cuda(const CudaPlugin& plugin);

// One line for --version: what the program can compute on, e.g. "CUDA 13.0, 1 × NVIDIA H200 (150
// GB), driver 580.65.06", or "CPU only: " with the reason.
std::string describe_devices_short();

}  // namespace myxtts
