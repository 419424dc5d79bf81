// SPDX-License-Identifier: Apache-2.0
//
// A CUDA plugin that needs no CUDA: two GPUs, the second of which fails its self-test. Where
// CUDA_VISIBLE_DEVICES names GPUs of fake_nvml.cpp, by number or UUID, it shows those, with
// FAKE_CUDA_MULTIPROCESSORS each (132). When it is opened it writes CUDA_VISIBLE_DEVICES to the
// file FAKE_CUDA_LOG names. Built with FAKE_PLUGIN_INTERFACE it claims to be made for that version
// of the interface.
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include "base/error.h"
#include "device/cuda_plugin.h"

#ifndef FAKE_PLUGIN_INTERFACE
#define FAKE_PLUGIN_INTERFACE myxtts::kCudaInterface
#endif

namespace {

std::string setting(const char* name, const char* otherwise) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : otherwise;
}

class FakeBackend final : public myxtts::CudaBackend {
 public:
  int runtime_version() const override { return 13000; }
  int driver_version() const override { return 13000; }
  std::vector<myxtts::CudaDevice> devices() const override {
    const std::string visible = setting("CUDA_VISIBLE_DEVICES", "");
    if (visible.empty()) return {{.index = 0}, {.index = 1}};
    std::vector<myxtts::CudaDevice> shown;
    std::istringstream list(visible);
    for (std::string name; std::getline(list, name, ',');) {  // a digit ends both ways of naming
      shown.push_back({.index = static_cast<int>(shown.size()),
                       .pci_bus_id = std::string("0000:1") + name.back() + ":00.0",
                       .multiprocessors = std::stoi(setting("FAKE_CUDA_MULTIPROCESSORS", "132"))});
    }
    return shown;
  }
  int libtorch_device_count() const override { return 2; }
  void self_test(int device) const override {
    if (device == 1)
      throw myxtts::DeviceError("it computes wrongly: number 7 of a test kernel is 0, not 9");
  }
  std::unique_ptr<myxtts::RoleDevice> open_role(myxtts::Role,
                                                const myxtts::RolePlan&) const override {
    throw myxtts::DeviceError("The fake plugin has no streams.");
  }
  std::vector<int> multiprocessors_of(const myxtts::Stream&) const override { return {}; }
  const myxtts::RoleMemory* owner_of(const void*) const override { return nullptr; }
  std::string make_communicator_id() const override { return "fake"; }
  std::unique_ptr<myxtts::GpuCommunicator> join_gpus(const std::string&, int, int,
                                                     int) const override {
    throw myxtts::DeviceError("The fake plugin has no NCCL.");
  }
  const myxtts::CudaKernels& kernels() const override {
    throw myxtts::DeviceError("The fake plugin has no kernels.");
  }
};

}  // namespace

extern "C" const myxtts::CudaBackend* myxtts_cuda_backend(int interface_version) {
  static FakeBackend backend;
  const std::string log = setting("FAKE_CUDA_LOG", "");
  if (!log.empty())
    std::ofstream(log, std::ios::app) << setting("CUDA_VISIBLE_DEVICES", "all") << "\n";
  return interface_version == FAKE_PLUGIN_INTERFACE ? &backend : nullptr;
}
