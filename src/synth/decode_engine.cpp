// SPDX-License-Identifier: Apache-2.0
#include "synth/decode_engine.h"

#include <map>
#include <mutex>

#include "base/error.h"
#include "synth/engine_cpu.h"
#include "synth/engine_cuda.h"

namespace myxtts {
namespace {

// The rows that the public model leaves free at the end of its code positions.
constexpr std::int64_t kUnusedCodes = 3;

struct Registry {
  std::mutex mutex;
  std::map<c10::DeviceType, DecodeEngineFactory> factories = {
      {c10::DeviceType::CPU, &make_cpu_engine}, {c10::DeviceType::CUDA, &make_cuda_engine}};
};

Registry& registry() {
  static Registry one;
  return one;
}

}  // namespace

std::int64_t most_text_tokens(const GptConfig& config) {
  return config.max_text_tokens - 1;
}

std::int64_t most_codes(const GptConfig& config) {
  return config.max_audio_tokens - kUnusedCodes;
}

bool has_decode_engine(c10::DeviceType type) {
  const std::lock_guard lock(registry().mutex);
  return registry().factories.contains(type);
}

void register_decode_engine(c10::DeviceType type, DecodeEngineFactory factory) {
  const std::lock_guard lock(registry().mutex);
  registry().factories[type] = factory;
}

std::unique_ptr<DecodeEngine> make_decode_engine(const GptConfig& config,
                                                 const NamedTensors& weights,
                                                 const DecodeCapacity& capacity,
                                                 c10::Device device) {
  DecodeEngineFactory factory = nullptr;
  {
    const std::lock_guard lock(registry().mutex);
    const auto found = registry().factories.find(device.type());
    if (found != registry().factories.end()) factory = found->second;
  }
  if (factory == nullptr) {
    throw DeviceError(fmt::format(
        "Nothing here generates codes on the device {}; use --device cpu, or a build with CUDA.",
        device.str()));
  }
  return factory(config, weights, capacity, device);
}

}  // namespace myxtts
