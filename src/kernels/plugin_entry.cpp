// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/backend.h"
#include "kernels/cuda_kernels.h"

namespace myxtts {
namespace {

constexpr CudaKernels kKernels = {
    .multiply = cuda::multiply,
    .gelu_backward = cuda::gelu_backward,
    .sum_columns = cuda::sum_columns,
    .join = cuda::join,
    .norm_forward = cuda::norm_forward,
    .norm_backward = cuda::norm_backward,
    .group_norm_forward = cuda::group_norm_forward,
    .group_norm_backward = cuda::group_norm_backward,
    .cross_entropy_forward = cuda::cross_entropy_forward,
    .cross_entropy_backward = cuda::cross_entropy_backward,
    .embedding_forward = cuda::embedding_forward,
    .embedding_backward = cuda::embedding_backward,
    .row_attention_fits_gpu = cuda::row_attention_fits_gpu,
    .row_attention_kept_words = cuda::row_attention_kept_words,
    .row_attention_forward = cuda::row_attention_forward,
    .row_attention_backward = cuda::row_attention_backward,
    .make_adamw = cuda::make_adamw,
    .make_code_decoder = cuda::make_code_decoder,
    .sound_mel = cuda::sound_mel,
};

}  // namespace
}  // namespace myxtts

// The plugin's one entry: see kCudaEntryPoint in device/cuda_plugin.h.
extern "C" const myxtts::CudaBackend* myxtts_cuda_backend(int interface_version) {
  static const auto backend = myxtts::make_cuda_backend(myxtts::kKernels);
  return interface_version == myxtts::kCudaInterface ? backend.get() : nullptr;
}
