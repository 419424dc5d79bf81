// SPDX-License-Identifier: Apache-2.0
#include "kernels/decode/decode_kernels.cuh"
#include "kernels/decode/fused/block.cuh"
#include "kernels/decode/fused/block_attention.cuh"
#include "kernels/decode/fused/block_layers.cuh"
#include "kernels/decode/fused/block_products.cuh"

// Note [One kernel for a step]
//
// At batch 1 a step reads every weight once and computes next to nothing: 755 MB in bf16, 175 us at
// the speed of an H200's memory. Kernels that follow one another cannot reach that, for at each
// boundary the memory idles. Here 128 blocks, one on each multiprocessor, live for the whole step.
//
// - A producer warp of each block streams the block's weights, in the order of their use, through a
//   ring in shared memory that holds nearly a layer. It never waits for anything but a free place,
//   so the memory goes on working while blocks wait for each other. Keys and values take the same
//   way.
// - Eight warps compute. Each block owns 8 columns of everything (32 of the MLP's inner layer), for
//   which it needs the whole input vector: five times in a layer all blocks publish what they
//   computed to all others.
// - Publishing is one store, receiving one load: a place in global memory holds kUnpublished until
//   a value comes. There is no barrier and no flag, so a value is one trip to L2 old when it is
//   received. Four sets of places take turns from layer to layer, few enough to stay in L2; a block
//   that publishes clears what it published two layers before, which all have received, for they
//   published something since. What all blocks receive is published several times over, for many
//   blocks at one line of L2 hinder each other.
// - Products are taken by tensor cores, the activations as the sum of two bf16 numbers (16 bits of
//   mantissa), so that only the weights are rounded. Rows 0-7 of the tile hold the upper halves of
//   up to eight rows of the batch, rows 8-15 the lower ones; 16 rows take two products.
// - Attention splits a head's keys among up to 8 blocks; the block that receives the parts joins
// them.

namespace myxtts::fused {
namespace {

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900

template <int kRows>
__global__ void __launch_bounds__(kThreads, 1) decode_step(const __grid_constant__ Step step) {
  extern __shared__ __align__(128) std::uint8_t memory[];
  bool any = false;
  for (int row = 0; row < step.tables.row_count; ++row) {
    any = any || step.tables.rows[row].finished == 0;
  }
  if (!any) return;
  Block<kRows> block(step, memory);
  block.prepare();
  if (threadIdx.x >= kComputing) {
    block.copy();
  } else {
    block.compute();
  }
}

#else

template <int kRows>
__global__ void decode_step(const __grid_constant__ Step step) {}

#endif

struct PackedLayer {
  const float* qkv;
  const float* attention_out;
  const float* mlp_in;
  const float* mlp_out;
};

// One thread for eight weights side by side in the stream. blockIdx: chunk, block of the decoder.
__global__ void pack_layer(PackedLayer layer, std::uint8_t* stream, std::int64_t stride) {
  const int chunk = static_cast<int>(blockIdx.x);
  const int block = static_cast<int>(blockIdx.y);
  const float* weight = layer.qkv;
  int outputs = 3 * kWidth;
  int output = chunk * kWidth + block * kColumns;
  int input = 0;
  if (chunk == 3) {
    weight = layer.attention_out;
    outputs = kWidth;
    output = block * kColumns;
  } else if (chunk >= 8) {
    weight = layer.mlp_out;
    outputs = kWidth;
    output = block * kColumns;
    input = (chunk - 8) * kWidth;
  } else if (chunk >= 4) {
    weight = layer.mlp_in;
    outputs = kHidden;
    output = block * kHiddenColumns + (chunk - 4) * kColumns;
  }
  __nv_bfloat16* const to =
      reinterpret_cast<__nv_bfloat16*>(stream + block * stride + chunk * kChunkBytes);
  for (int i = static_cast<int>(threadIdx.x); i < kChunkBytes / 16;
       i += static_cast<int>(blockDim.x)) {
    const int lane = i % 32;
    const int first = input + i / 32 * 32 + lane % 4 * 8;
    for (int j = 0; j < 8; ++j) {
      to[i * 8 + j] = __float2bfloat16_rn(
          weight[static_cast<std::int64_t>(first + j) * outputs + output + lane / 4]);
    }
  }
}

__global__ void pack_head(const float* weight, int ids, std::uint8_t* stream, std::int64_t stride) {
  const int chunk = static_cast<int>(blockIdx.x);
  const int block = static_cast<int>(blockIdx.y);
  __nv_bfloat16* const to =
      reinterpret_cast<__nv_bfloat16*>(stream + block * stride + chunk * kChunkBytes);
  for (int i = static_cast<int>(threadIdx.x); i < kChunkBytes / 16;
       i += static_cast<int>(blockDim.x)) {
    const int lane = i % 32;
    const int first = i / 32 * 32 + lane % 4 * 8;
    const int id = chunk * kWidth + block * kColumns + lane / 4;
    for (int j = 0; j < 8; ++j) {
      const float value = id < ids ? weight[static_cast<std::int64_t>(id) * kWidth + first + j] : 0;
      to[i * 8 + j] = __float2bfloat16_rn(value);
    }
  }
}

template <int kRows>
cudaError_t launch(const Step& step, cudaStream_t stream) {
  constexpr int kBytes = Layout<kRows>::kBytes;
  const cudaError_t allowed =
      cudaFuncSetAttribute(decode_step<kRows>, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes);
  if (allowed != cudaSuccess) return allowed;
  // All blocks must be there at once, for they wait for each other.
  cudaLaunchAttribute together = {};
  together.id = cudaLaunchAttributeCooperative;
  together.val.cooperative = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(kBlocks);
  config.blockDim = dim3(kThreads);
  config.dynamicSmemBytes = kBytes;
  config.stream = stream;
  config.attrs = &together;
  config.numAttrs = 1;
  return cudaLaunchKernelEx(&config, decode_step<kRows>, step);
}

}  // namespace

const char* reason_against(const CodeDecoderShape& shape, int device) {
  if (shape.width != kWidth || shape.heads != kHeads) return "it is for the public model's width";
  if (shape.ids > kMostIds) return "it is for at most 1032 audio ids";
  if (shape.capacity > kMostKeys) return "it is for at most 1088 keys";
  if (shape.rows > kMostRows) return "it is for at most 16 rows";
  cudaDeviceProp properties = {};
  if (cudaGetDeviceProperties(&properties, device) != cudaSuccess) return "the GPU does not answer";
  if (properties.major < 9) return "it is for GPUs of compute capability 9.0 and newer";
  if (properties.multiProcessorCount < kBlocks) return "it is for GPUs of 128 multiprocessors";
  if (static_cast<int>(properties.sharedMemPerBlockOptin) < Layout<1>::kBytes) {
    return "it needs 227 KB of shared memory";
  }
  return "";
}

void launch_pack(const CodeDecoderWeights& weights, int ids, std::uint8_t* stream,
                 cudaStream_t cuda_stream) {
  const std::int64_t stride = stream_bytes(static_cast<int>(weights.layers.size()));
  std::uint8_t* next = stream;
  for (const LayerView& layer : weights.layers) {
    const PackedLayer packed = {layer.qkv.weight, layer.attention_out.weight, layer.mlp_in.weight,
                                layer.mlp_out.weight};
    pack_layer<<<dim3(kLayerChunks, kBlocks), 256, 0, cuda_stream>>>(packed, next, stride);
    next += kLayerChunks * kChunkBytes;
  }
  pack_head<<<dim3(kHeadChunks, kBlocks), 256, 0, cuda_stream>>>(weights.head.weight, ids, next,
                                                                 stride);
}

cudaError_t launch_step(const Step& step, cudaStream_t stream) {
  if (step.tables.row_count == 1) return launch<1>(step, stream);
  if (step.tables.row_count <= 8) return launch<8>(step, stream);
  return launch<16>(step, stream);
}

}  // namespace myxtts::fused
