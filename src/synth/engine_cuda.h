// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "kernels/code_decoder.h"
#include "synth/decode_engine.h"

namespace myxtts {

// LibTorch reads the prefixes, kernels/ makes the steps and chooses the codes, all on one GPU; see
// docs/internals/decode-engine.md. Throws DeviceError where there is none.
std::unique_ptr<DecodeEngine> make_cuda_engine(const GptConfig& config, const NamedTensors& weights,
                                               const DecodeCapacity& capacity, c10::Device device);

// The same with another precision or method than the GPU's best.
std::unique_ptr<DecodeEngine> make_cuda_engine_by(const GptConfig& config,
                                                  const NamedTensors& weights,
                                                  const DecodeCapacity& capacity,
                                                  c10::Device device, DecodePrecision precision,
                                                  DecodeMethod method);

}  // namespace myxtts
