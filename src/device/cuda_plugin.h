// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

#include "device/cuda_backend.h"

namespace myxtts {

// The oldest driver that runs programs of CUDA 13.0.
inline constexpr int kMinimumDriver = 580;

// Where the plugin and the driver are looked for.
struct CudaPluginPlaces {
  std::filesystem::path plugin = {};
  std::string driver_library = {};

  // libmyxtts_cuda.so beside libmyxtts.so, and libcuda.so.1; the environment variables
  // MYXTTS_CUDA_PLUGIN and MYXTTS_CUDA_DRIVER name others.
  static CudaPluginPlaces usual();
};

// What became of the attempt to open the plugin.
struct CudaPlugin {
  std::filesystem::path path = {};
  bool present = false;            // the file is there
  std::string driver_reason = {};  // why there is no driver; empty: there is one
  std::string reason = {};         // why there is no backend; empty: there is one
  std::string remedy = {};         // what to type then
  const CudaBackend* backend = nullptr;
};

// Looks whether plugin and driver are there and opens neither for good: CUDA is not started.
CudaPlugin find_cuda_plugin(const CudaPluginPlaces& places);

// Opens the plugin if a driver is there. What it opened stays open.
CudaPlugin open_cuda_plugin(const CudaPluginPlaces& places);

// Why CUDA cannot be used and what to do about it, for the end of a sentence ("the CUDA plugin is
// not built: ... Type: ..., or give --device cpu."); empty when plugin and driver are there.
std::string cuda_fault(const CudaPlugin& plugin);

// The program's plugin, opened by the first call (half a second where there is a driver). LibTorch
// looks for CUDA once: call this before it is asked to. Safe from any thread.
//
// Only what computes on a GPU calls it, and after the visible devices were set: see
// device/visible_devices.h.
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
