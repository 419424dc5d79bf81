// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/code_decoder.h"
#include "kernels/decode_rows.cuh"

// The step as a kernel for each operation: any size of network, any GPU.

namespace myxtts {

// A layer as these kernels read it: norms and biases in fp32, weights [out, in] of type Number.
template <typename Number>
struct StepLayer {
  NormView before_attention;
  NormView before_mlp;
  const Number* qkv;
  const Number* attention_out;
  const Number* mlp_in;
  const Number* mlp_out;
  const float* qkv_bias;
  const float* attention_out_bias;
  const float* mlp_in_bias;
  const float* mlp_out_bias;
  Number* keys;    // [rows, heads, capacity, head width]
  Number* values;  // the same
};

// Work space of a step, on the device.
struct StepBuffers {
  float* x;         // [rows, D] the residual stream
  float* normed;    // [rows, D]
  float* qkv;       // [rows, 3 D]
  float* attended;  // [rows, D]
  float* hidden;    // [rows, 4 D]
};

// What follows the layers.
template <typename Number>
struct StepEnds {
  const float* embedding;
  const float* positions;
  NormView last_norm;
  NormView final_norm;
  const Number* head;  // [ids, D]
  const float* head_bias;
};

template <typename Number>
void launch_embed(const CodeDecoderShape& shape, const RowTables& tables,
                  const StepEnds<Number>& ends, const StepBuffers& buffers, cudaStream_t stream);
template <typename Number>
void launch_layer(const CodeDecoderShape& shape, const RowTables& tables,
                  const StepLayer<Number>& layer, const StepBuffers& buffers, cudaStream_t stream);
template <typename Number>
void launch_choice(const CodeDecoderShape& shape, const RowTables& tables,
                   const StepEnds<Number>& ends, const StepBuffers& buffers, cudaStream_t stream);

// [in, out] fp32 -> [out, in] Number.
template <typename Number>
void launch_transpose(const float* from, Number* to, std::int64_t in, std::int64_t out,
                      cudaStream_t stream);
template <typename Number>
void launch_convert(const float* from, Number* to, std::int64_t count, cudaStream_t stream);

// Keys or values [length, D] -> [heads, capacity, head width].
template <typename Number>
void launch_scatter_heads(const CodeDecoderShape& shape, const float* from, Number* to,
                          std::int64_t length, cudaStream_t stream);

}  // namespace myxtts
