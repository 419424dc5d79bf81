// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/green_partition.h"

#include <cuda_runtime_api.h>

#include <string>

#include "base/error.h"
#include "device/cuda/check.h"

namespace myxtts {
namespace {

constexpr unsigned kSince = 12050;  // the CUDA that green contexts and their streams came with

// The driver's functions, looked up: the plugin does not link the driver.
template <typename Function>
Function driver_function(const char* name) {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found{};
  check(cudaGetDriverEntryPointByVersion(name, &function, kSince, cudaEnableDefault, &found),
        std::string("looking for ") + name);
  if (found != cudaDriverEntryPointSuccess) {
    int driver = 0;
    cudaDriverGetVersion(&driver);
    throw DeviceError(fmt::format(
        "This NVIDIA driver cannot split a GPU: it is for CUDA {}.{} and has no {}. Update it, or "
        "train with --mode single.",
        driver / 1000, driver % 1000 / 10, name));
  }
  return reinterpret_cast<Function>(function);
}

#define MYXTTS_DRIVER(name) driver_function<decltype(&name)>(#name)

CUdevResource all_multiprocessors(CUdevice device) {
  CUdevResource all{};
  check(MYXTTS_DRIVER(cuDeviceGetDevResource)(device, &all, CU_DEV_RESOURCE_TYPE_SM),
        "asking a GPU for its multiprocessors");
  return all;
}

CUdevResource taken_from(const CUdevResource& all, int gpu, int multiprocessors) {
  CUdevResource part{};
  CUdevResource rest{};
  unsigned groups = 1;
  const CUresult result = MYXTTS_DRIVER(cuDevSmResourceSplitByCount)(
      &part, &groups, &all, &rest, 0, static_cast<unsigned>(multiprocessors));
  if (result != CUDA_SUCCESS || groups != 1) {
    throw DeviceError(
        fmt::format("GPU {} cannot give {} of its {} multiprocessors to the data role. Type: "
                    "--split-gpu {}:16",
                    gpu, multiprocessors, all.sm.smCount, gpu));
  }
  return part;
}

}  // namespace

GreenPartition::GreenPartition(int gpu, int multiprocessors) {
  const DeviceScope on(gpu);
  check(cudaFree(nullptr), fmt::format("opening GPU {}", gpu));  // its primary context
  CUdevice device{};
  check(MYXTTS_DRIVER(cuDeviceGet)(&device, gpu), fmt::format("finding GPU {}", gpu));
  CUdevResource part = taken_from(all_multiprocessors(device), gpu, multiprocessors);
  multiprocessors_ = static_cast<int>(part.sm.smCount);

  CUdevResourceDesc description{};
  check(MYXTTS_DRIVER(cuDevResourceGenerateDesc)(&description, &part, 1),
        fmt::format("describing a part of GPU {}", gpu));
  check(
      MYXTTS_DRIVER(cuGreenCtxCreate)(&context_, description, device, CU_GREEN_CTX_DEFAULT_STREAM),
      fmt::format("splitting GPU {}", gpu));
}

CUstream GreenPartition::make_stream(int priority) const {
  CUstream stream = nullptr;
  check(MYXTTS_DRIVER(cuGreenCtxStreamCreate)(&stream, context_, CU_STREAM_NON_BLOCKING, priority),
        "making a stream on a part of a GPU");
  return stream;
}

}  // namespace myxtts
