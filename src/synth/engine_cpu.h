// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "synth/decode_engine.h"

namespace myxtts {

// LibTorch reads the prefixes, synth/cpu/ makes the steps with as many threads as LibTorch has. The
// weights are shared, and copied once more in the order in which a step reads them.
std::unique_ptr<DecodeEngine> make_cpu_engine(const GptConfig& config, const NamedTensors& weights,
                                              const DecodeCapacity& capacity, c10::Device device);

}  // namespace myxtts
