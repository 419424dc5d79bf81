// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include "kernels/adamw/adamw.h"

// The kernels of an update on a GPU; each is queued on `stream` and gives CUDA's answer to that.

namespace myxtts {

cudaError_t launch_adamw_prepare(cudaStream_t stream, UpdateState* state, std::int64_t step,
                                 double learning_rate);
cudaError_t launch_adamw_measure(cudaStream_t stream, NumberFormat format, const AdamWPart& part,
                                 float* sums);
cudaError_t launch_adamw_decide(cudaStream_t stream, const AdamWRule& rule, UpdateState* state,
                                const float* sums, std::int64_t count);
// `to_clear`: the array of all gradients, whose part becomes 0; or null.
cudaError_t launch_adamw_apply(cudaStream_t stream, const AdamWArrays& arrays,
                               const AdamWPart& part, const AdamWRule& rule,
                               const UpdateState* state, void* to_clear);
cudaError_t launch_adamw_report(cudaStream_t stream, UpdateState* state, const float* sums,
                                std::int64_t count);
cudaError_t launch_adamw_add_up(cudaStream_t stream, void* gradients, NumberFormat format,
                                float* sums, std::int64_t count);

}  // namespace myxtts
