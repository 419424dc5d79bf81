// SPDX-License-Identifier: Apache-2.0
#include "device/cuda_plugin.h"

#include <dlfcn.h>
#include <atomic>
#include <cstdlib>

#include "base/error.h"
#include "base/process.h"
#include "device/machine.h"

namespace myxtts {
namespace {

namespace fs = std::filesystem;

std::atomic<bool> opened = false;  // by cuda_plugin()

// The folder of the shared library this function is in.
fs::path own_folder() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&own_folder), &info) == 0) return {};
  return fs::path(info.dli_fname).parent_path();
}

std::string environment_or(const char* name, const std::string& otherwise) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0' ? value : otherwise;
}

void load(CudaPlugin& plugin) {
  DynamicLibrary library(plugin.path.string());
  if (!library.is_open()) {
    plugin.reason = fmt::format("the CUDA plugin cannot be opened: {}", library.reason());
    plugin.remedy = "Type: tools/setup";  // fetches CUDA's libraries where there is a driver
    return;
  }
  library.keep_open();  // LibTorch's CUDA half cannot be unloaded
  const auto entry = library.function<CudaEntryPoint>(kCudaEntryPoint);
  plugin.backend = entry != nullptr ? entry(kCudaInterface) : nullptr;
  if (plugin.backend == nullptr) {
    plugin.reason = fmt::format("{} belongs to another version of myxtts", plugin.path.string());
    plugin.remedy = "Type: tools/build";
  }
}

}  // namespace

fs::path cuda_plugin_path() {
  return environment_or("MYXTTS_CUDA_PLUGIN", (own_folder() / "libmyxtts_cuda.so").string());
}

std::string cuda_driver_library() {
  return environment_or("MYXTTS_CUDA_DRIVER", "libcuda.so.1");
}

CudaPlugin find_cuda_plugin(const fs::path& path, const std::string& driver_library) {
  std::error_code unreadable;
  CudaPlugin plugin{.path = path, .present = fs::exists(path, unreadable)};
  const DynamicLibrary driver(driver_library);
  if (!plugin.present) {
    plugin.reason = fmt::format("the CUDA plugin is not built: no file {}", plugin.path.string());
    plugin.remedy = "Type: MYXTTS_CUDA=ON tools/build";
  } else if (!driver.is_open()) {
    plugin.reason = fmt::format("there is no NVIDIA driver: {}", driver.reason());
    plugin.remedy = fmt::format("Install NVIDIA's driver, version {} or newer", kMinimumDriver);
  }
  return plugin;
}

CudaPlugin open_cuda_plugin(const fs::path& path, const std::string& driver_library) {
  CudaPlugin plugin = find_cuda_plugin(path, driver_library);
  if (!plugin.reason.empty()) return plugin;
  DynamicLibrary(driver_library).keep_open();
  load(plugin);
  return plugin;
}

std::string cuda_fault(const CudaPlugin& plugin) {
  if (plugin.reason.empty()) return {};
  return fmt::format("{}. {}", plugin.reason, plugin.remedy);
}

const CudaPlugin& cuda_plugin() {
  static const CudaPlugin plugin = [] {
    opened = true;
    return open_cuda_plugin();
  }();
  return plugin;
}

bool cuda_plugin_is_open() {
  return opened;
}

const CudaBackend& require_cuda(const CudaPlugin& plugin) {
  if (plugin.backend == nullptr) {
    throw DeviceError(
        fmt::format("No GPU can be used: {}, or give --device cpu.", cuda_fault(plugin)));
  }
  return *plugin.backend;
}

const CudaBackend& require_cuda() {
  return require_cuda(cuda_plugin());
}

std::string describe_devices_short() {
  const CudaPlugin& plugin = cuda_plugin();
  if (plugin.backend == nullptr) return "CPU only: " + plugin.reason;
  const int version = plugin.backend->runtime_version();
  return fmt::format("CUDA {}.{}, {}", version / 1000, version % 1000 / 10,
                     describe_gpus(SystemProbe().gpus()));
}

}  // namespace myxtts
