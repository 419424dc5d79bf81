// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/code_decoder.h"
#include "kernels/decode_rows.cuh"

namespace myxtts {

// What a step is computed with. One for each method and precision.
class StepMaker {
 public:
  virtual ~StepMaker() = default;
  virtual void load_prefix(std::int64_t row, std::int64_t layer, const float* keys,
                           const float* values, std::int64_t length) = 0;
  virtual void start() = 0;  // before a row's first step
  virtual void step() = 0;
  virtual void copy_rows(const std::vector<std::int64_t>& from) = 0;
};

// The one that the options ask for, with copies of the weights. Throws DeviceError when the method
// cannot be used on the device.
std::unique_ptr<StepMaker> make_step_maker(const CodeDecoderOptions& options,
                                           const CodeDecoderWeights& weights,
                                           const RowTables& tables, cudaStream_t stream);

}  // namespace myxtts
