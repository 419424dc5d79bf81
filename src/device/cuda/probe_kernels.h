// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include <cuda_runtime_api.h>

namespace myxtts {

// Fills `numbers` on the current device by a kernel of ours and copies them back. Waits for the
// device; gives the first error of CUDA.
cudaError_t run_self_test_kernel(std::vector<std::uint32_t>& numbers);

// What the kernel must have written at `index`.
std::uint32_t expected_self_test_number(std::uint32_t index);

// Runs blocks on `stream` until every multiprocessor it may use had some, and gives those that had,
// ascending. Waits for the device; gives the first error of CUDA.
cudaError_t probe_multiprocessors(cudaStream_t stream, std::vector<int>& found);

}  // namespace myxtts
