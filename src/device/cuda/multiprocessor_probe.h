// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <vector>

namespace myxtts {

// Runs blocks on `stream` until every multiprocessor it may use had some, and gives those that had,
// ascending. Waits for the device; gives the first error of CUDA.
cudaError_t probe_multiprocessors(cudaStream_t stream, std::vector<int>& found);

}  // namespace myxtts
