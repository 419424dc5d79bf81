// SPDX-License-Identifier: Apache-2.0
#include <atomic>

#include "base/error.h"
#include "device/cuda_plugin.h"
#include "kernels/code_decoder.h"

namespace myxtts {
namespace {

std::atomic<CodeDecoderRegistration::Factory>& cuda_factory() {
  static std::atomic<CodeDecoderRegistration::Factory> factory = nullptr;
  return factory;
}

}  // namespace

CodeDecoderRegistration::CodeDecoderRegistration(Factory factory) {
  cuda_factory() = factory;
}

std::unique_ptr<CodeDecoder> make_cuda_code_decoder(const CodeDecoderOptions& options,
                                                    const CodeDecoderWeights& weights) {
  const CudaPlugin& plugin = cuda_plugin();
  require_cuda(plugin);
  const auto factory = cuda_factory().load();
  if (factory == nullptr) {
    throw DeviceError(fmt::format("The CUDA plugin {} cannot decode codes. Type: tools/build",
                                  plugin.path.string()));
  }
  return factory(options, weights);
}

}  // namespace myxtts
