// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/code_decoder.h"
#include "kernels/decode_rows.cuh"

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

// What blocks tell each other in one layer, in floats for each row of the capacity.
inline constexpr int kTellQkv = 0;
inline constexpr int kTellParts = kTellQkv + 3 * kWidth;             // [head, split, 64]
inline constexpr int kTellSums = kTellParts + kBlocks * kHeadWidth;  // [head, split, 2]
inline constexpr int kTellMixed = kTellParts;  // [D] instead of the two, among several rows
inline constexpr int kTellMiddle = kTellSums + kBlocks * 2;  // [D] after attention
inline constexpr int kTellHidden = kTellMiddle + kWidth;     // [4 D]
inline constexpr int kTellX = kTellHidden + kHidden;         // [D] after the layer
inline constexpr int kTellFloats = kTellX + kWidth;
inline constexpr int kTellLogits = (kMostIds + 3) / 4 * 4;

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
  float* told;          // [kTurnsOfLayers, replicas, rows, kTellFloats]
  float* told_logits;   // [rows, kTellLogits], this step's
  float* wiped_logits;  // the next step's
  int first_turn;       // of the first layer: turns go on from step to step
};

inline std::int64_t stream_bytes(int layers) {
  return (std::int64_t{layers} * kLayerChunks + kHeadChunks) * kChunkBytes;
}

// Sets of places that layers take turns with, and copies of each.
inline constexpr int kTurnsOfLayers = 4;
__host__ __device__ constexpr int replicas_for(int rows) {
  return rows == 1 ? 8 : rows <= 8 ? 4 : 2;
}
inline std::int64_t tell_floats(int rows) {
  return std::int64_t{kTurnsOfLayers} * replicas_for(rows) * rows * kTellFloats;
}

// Why the kernel cannot run here; empty when it can.
const char* reason_against(const CodeDecoderShape& shape, int device);

void launch_pack(const CodeDecoderWeights& weights, int ids, std::uint8_t* stream,
                 cudaStream_t cuda_stream);
cudaError_t launch_step(const Step& step, cudaStream_t stream);

}  // namespace myxtts::fused
