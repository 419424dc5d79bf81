// SPDX-License-Identifier: Apache-2.0
#include <atomic>

#include "base/error.h"
#include "device/cuda_plugin.h"
#include "kernels/adamw.h"

namespace myxtts {
namespace {

std::atomic<AdamWRegistration::Factory>& cuda_factory() {
  static std::atomic<AdamWRegistration::Factory> factory = nullptr;
  return factory;
}

}  // namespace

AdamWRegistration::AdamWRegistration(Factory factory) {
  cuda_factory() = factory;
}

std::unique_ptr<AdamW> make_cuda_adamw(const AdamWRule& rule) {
  const CudaPlugin& plugin = cuda_plugin();
  require_cuda(plugin);
  const auto factory = cuda_factory().load();
  if (factory == nullptr) {
    throw DeviceError(fmt::format("The CUDA plugin {} cannot update weights. Type: tools/build",
                                  plugin.path.string()));
  }
  return factory(rule);
}

}  // namespace myxtts
