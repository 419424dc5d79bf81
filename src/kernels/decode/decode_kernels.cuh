// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <cuda_bf16.h>
#include <cuda_runtime_api.h>

#include "kernels/decode/code_decoder.h"
#include "kernels/decode/code_sampling.h"

namespace myxtts {

// Where a row stands; in device memory, so that one graph serves every step.
struct DeviceRow {
  std::int32_t prefix = 0;    // keys before the start id
  std::int32_t step = 0;      // ids fed so far: the position of the next one
  std::int32_t next = 0;      // the id to feed
  std::int32_t finished = 1;  // nothing is done for it
  SamplingRule rule = {};
};

// What the host reads of a row without waiting; in mapped host memory.
// One word, so that both change at once.
struct HostRow {
  volatile std::uint64_t codes_and_end;  // codes made, and bit 32 once the row is finished

  __host__ __device__ static std::uint64_t pack(std::int32_t codes, bool finished) {
    return static_cast<std::uint32_t>(codes) | std::uint64_t{finished ? 1U : 0U} << 32U;
  }
};

// The rows of a decoder and what a step leaves behind. Pointers are to device memory but for the
// last two, which are the device's addresses of mapped host memory.
struct RowTables {
  DeviceRow* rows;      // [rows]
  std::uint8_t* seen;   // [rows, ids]
  float* logits;        // [rows, ids]
  float* latents;       // [rows, most_codes, D]
  HostRow* host_rows;   // [rows]
  std::int32_t* codes;  // [rows, most_codes]
  std::int32_t row_count;
  std::int32_t ids;
  std::int32_t most_codes;
  std::int32_t stop;
};

}  // namespace myxtts

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

// The whole step as one kernel; see Note [One kernel for a step] in decode_fused_cuda.cu.

namespace myxtts::fused {

// The network this is written for: the public one, of any depth.
inline constexpr int kWidth = 1024;
inline constexpr int kHeads = 16;
inline constexpr int kHeadWidth = 64;
inline constexpr int kHidden = 4 * kWidth;

inline constexpr int kBlocks = 128;                  // each owns 8 columns of the residual stream
inline constexpr int kColumns = kWidth / kBlocks;    // 8, the width of a tensor core's tile
inline constexpr int kHiddenColumns = 4 * kColumns;  // of the MLP's inner layer
inline constexpr int kBlocksOfHead = kBlocks / kHeads;  // 8
inline constexpr int kMostRows = 16;

// A block reads its weights as one stream of chunks: 8 outputs of 1024 inputs in bf16 each.
inline constexpr int kChunkBytes = kColumns * kWidth * 2;
inline constexpr int kLayerChunks = 3 + 1 + 4 + 4;  // qkv, attention out, mlp in, mlp out
inline constexpr int kHeadChunks = 2;               // the second is the first block's alone
inline constexpr int kMostIds = kWidth + kColumns;

// Keys of one head that one block takes; a place in the ring holds them or a chunk.
inline constexpr int kMostSplitKeys = 136;
inline constexpr int kSplitKeys = 128;  // aimed at
inline constexpr int kSlotBytes = kMostSplitKeys * kHeadWidth * 2;
inline constexpr int kMostKeys = kBlocksOfHead * kMostSplitKeys;

// fp32 values of a layer that are not streamed, one after another.
inline constexpr int kScale1 = 0;
inline constexpr int kShift1 = kScale1 + kWidth;
inline constexpr int kQkvBias = kShift1 + kWidth;
inline constexpr int kOutBias = kQkvBias + 3 * kWidth;
inline constexpr int kScale2 = kOutBias + kWidth;
inline constexpr int kShift2 = kScale2 + kWidth;
inline constexpr int kInBias = kShift2 + kWidth;
inline constexpr int kMlpOutBias = kInBias + kHidden;
inline constexpr int kLayerFloats = kMlpOutBias + kWidth;

// What blocks publish in one layer, in floats for each row of the capacity.
inline constexpr int kMailQkv = 0;
inline constexpr int kMailParts = kMailQkv + 3 * kWidth;             // [head, split, 64]
inline constexpr int kMailSums = kMailParts + kBlocks * kHeadWidth;  // [head, split, 2]
inline constexpr int kMailMixed = kMailParts;  // [D] instead of the two, among several rows
inline constexpr int kMailMiddle = kMailSums + kBlocks * 2;  // [D] after attention
inline constexpr int kMailHidden = kMailMiddle + kWidth;     // [4 D]
inline constexpr int kMailX = kMailHidden + kHidden;         // [D] after the layer
inline constexpr int kMailFloats = kMailX + kWidth;
inline constexpr int kMailLogits = (kMostIds + 3) / 4 * 4;

struct Network {
  const std::uint8_t* stream;  // [kBlocks, chunks]
  const float* floats;         // [layers, kLayerFloats]
  NormView last_norm;
  NormView final_norm;
  const float* head_bias;
  const float* embedding;
  const float* positions;
  int layers;
};

struct Step {
  Network network;
  RowTables tables;
  __nv_bfloat16* keys;    // [layers, rows, heads, capacity, 64]
  __nv_bfloat16* values;  // the same
  int capacity;
  float* mail;            // [kTurnsOfLayers, replicas, rows, kMailFloats]
  float* mail_logits;     // [rows, kMailLogits], this step's
  float* cleared_logits;  // the next step's
  int first_turn;         // of the first layer: turns go on from step to step
};

inline std::int64_t stream_bytes(int layers) {
  return (std::int64_t{layers} * kLayerChunks + kHeadChunks) * kChunkBytes;
}

// Sets of places that layers take turns with, and copies of each.
inline constexpr int kTurnsOfLayers = 4;
__host__ __device__ constexpr int replicas_for(int rows) {
  return rows == 1 ? 8 : rows <= 8 ? 4 : 2;
}
inline std::int64_t mail_floats(int rows) {
  return std::int64_t{kTurnsOfLayers} * replicas_for(rows) * rows * kMailFloats;
}

// Why the kernel cannot run here; empty when it can.
const char* reason_against(const CodeDecoderShape& shape, int device);

void launch_pack(const CodeDecoderWeights& weights, int ids, std::uint8_t* stream,
                 cudaStream_t cuda_stream);
cudaError_t launch_step(const Step& step, cudaStream_t stream);

}  // namespace myxtts::fused
