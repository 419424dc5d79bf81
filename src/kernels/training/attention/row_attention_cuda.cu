// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/check.h"
#include "kernels/training/attention/kept_bits.cuh"
#include "kernels/training/attention/row_attention_launch.cuh"

namespace myxtts {
namespace {

// Asynchronous copies and products of bf16 came with Ampere.
bool fits_gpu() {
  int device = 0;
  int capability = 0;
  check(cudaGetDevice(&device), "asking for the GPU");
  check(cudaDeviceGetAttribute(&capability, cudaDevAttrComputeCapabilityMajor, device),
        "asking what a GPU can do");
  return capability >= 8;
}

const CudaKernelRegistration<RowAttentionKernels> kRegistered({.fits_gpu = fits_gpu,
                                                               .kept_words = device::kept_words,
                                                               .forward = row_attention_forward,
                                                               .backward = row_attention_backward});

}  // namespace
}  // namespace myxtts
