// SPDX-License-Identifier: Apache-2.0
//
// A CUDA plugin that needs no CUDA: two GPUs, the second of which fails its self-test. Built with
// FAKE_PLUGIN_INTERFACE it claims to be made for that version of the interface.
#include "base/error.h"
#include "device/cuda_backend.h"

#ifndef FAKE_PLUGIN_INTERFACE
#define FAKE_PLUGIN_INTERFACE myxtts::kCudaInterface
#endif

namespace {

class FakeBackend final : public myxtts::CudaBackend {
 public:
  int runtime_version() const override { return 13000; }
  int driver_version() const override { return 13000; }
  std::vector<myxtts::CudaDevice> devices() const override { return {{.index = 0}, {.index = 1}}; }
  int libtorch_device_count() const override { return 2; }
  void self_test(int device) const override {
    if (device == 1) throw myxtts::DeviceError("GPU 1 computes wrongly.");
  }
  std::unique_ptr<myxtts::RoleDevice> open_role(myxtts::Role,
                                                const myxtts::RolePlan&) const override {
    throw myxtts::DeviceError("The fake plugin has no streams.");
  }
  std::vector<int> multiprocessors_of(const myxtts::Stream&) const override { return {}; }
};

}  // namespace

extern "C" myxtts::CudaBackend* myxtts_cuda_backend(int interface_version) {
  static FakeBackend backend;
  return interface_version == FAKE_PLUGIN_INTERFACE ? &backend : nullptr;
}
