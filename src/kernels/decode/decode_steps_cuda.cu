// SPDX-License-Identifier: Apache-2.0
#include <cuda_bf16.h>

#include "kernels/decode/code_sampling_cuda.cuh"
#include "kernels/decode/decode_kernels.cuh"

namespace myxtts {
namespace {

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / 32;
constexpr float kNormEpsilon = 1e-5F;

// Eight numbers as they lie in memory.
template <typename Number>
struct Eight;

template <>
struct Eight<float> {
  float4 low;
  float4 high;
  __device__ void get(float* to) const {
    to[0] = low.x, to[1] = low.y, to[2] = low.z, to[3] = low.w;
    to[4] = high.x, to[5] = high.y, to[6] = high.z, to[7] = high.w;
  }
};

template <>
struct Eight<__nv_bfloat16> {
  uint4 bits;
  __device__ void get(float* to) const {
    const std::uint32_t words[4] = {bits.x, bits.y, bits.z, bits.w};
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      to[2 * i] = __uint_as_float(words[i] << 16);
      to[2 * i + 1] = __uint_as_float(words[i] & 0xFFFF0000U);
    }
  }
};

__device__ float warp_sum(float value) {
  for (int step = 16; step > 0; step >>= 1) value += __shfl_xor_sync(~0U, value, step);
  return value;
}

__device__ float warp_max(float value) {
  for (int step = 16; step > 0; step >>= 1) {
    value = fmaxf(value, __shfl_xor_sync(~0U, value, step));
  }
  return value;
}

__device__ float block_sum(float value, float* shared) {
  value = warp_sum(value);
  __syncthreads();
  if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = value;
  __syncthreads();
  value = 0;
  for (int i = 0; i < kWarps; ++i) value += shared[i];
  return value;
}

__device__ float gelu_tanh(float x) {
  return 0.5F * x * (1.0F + tanhf(0.7978845608028654F * (x + 0.044715F * x * x * x)));
}

// One block for each row.
__global__ void embed(RowTables tables, const float* embedding, const float* positions, int width,
                      float* x) {
  const DeviceRow& row = tables.rows[blockIdx.x];
  if (row.finished != 0) return;
  const float* const id = embedding + static_cast<std::int64_t>(row.next) * width;
  const float* const place = positions + static_cast<std::int64_t>(row.step) * width;
  for (int i = static_cast<int>(threadIdx.x); i < width; i += kThreads) {
    x[static_cast<std::int64_t>(blockIdx.x) * width + i] = id[i] + place[i];
  }
}

__device__ void normalise_into(const float* x, NormView norm, int width, float* shared, float* y) {
  float sum = 0;
  for (int i = static_cast<int>(threadIdx.x); i < width; i += kThreads) sum += x[i];
  const float mean = block_sum(sum, shared) / static_cast<float>(width);
  sum = 0;
  for (int i = static_cast<int>(threadIdx.x); i < width; i += kThreads) {
    sum += (x[i] - mean) * (x[i] - mean);
  }
  const float variance = block_sum(sum, shared) / static_cast<float>(width);
  const float factor = rsqrtf(variance + kNormEpsilon);
  for (int i = static_cast<int>(threadIdx.x); i < width; i += kThreads) {
    y[i] = (x[i] - mean) * factor * norm.scale[i] + norm.shift[i];
  }
}

// One block for each row.
__global__ void normalise(RowTables tables, const float* x, NormView norm, int width, float* y) {
  __shared__ float shared[kWarps];
  if (tables.rows[blockIdx.x].finished != 0) return;
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * width;
  normalise_into(x + first, norm, width, shared, y + first);
}

// The last two norms; the result is also the row's latent.
__global__ void normalise_twice(RowTables tables, const float* x, NormView last, NormView final,
                                int width, float* y) {
  __shared__ float shared[kWarps];
  const DeviceRow& row = tables.rows[blockIdx.x];
  if (row.finished != 0) return;
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * width;
  normalise_into(x + first, last, width, shared, y + first);
  __syncthreads();
  float* const latent =
      tables.latents +
      (static_cast<std::int64_t>(blockIdx.x) * tables.most_codes + row.step) * width;
  normalise_into(y + first, final, width, shared, latent);
  __syncthreads();
  for (int i = static_cast<int>(threadIdx.x); i < width; i += kThreads) y[first + i] = latent[i];
}

enum class After { Nothing, Gelu, Add };

struct LinearCall {
  const float* x;  // [rows, in]
  const float* bias;
  float* y;  // [rows, out]
  int rows;
  int in;
  int out;
};

// A warp for each output, all rows at once: a weight is read once.
template <typename Number, int kRows, After kAfter>
__global__ void linear(LinearCall call, const Number* weight) {
  const int output = static_cast<int>(blockIdx.x) * kWarps + static_cast<int>(threadIdx.x) / 32;
  if (output >= call.out) return;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const Number* const own = weight + static_cast<std::int64_t>(output) * call.in;
  float sums[kRows] = {};
#pragma unroll 4
  for (int i = lane * 8; i < call.in; i += 256) {
    float w[8];
    reinterpret_cast<const Eight<Number>*>(own + i)->get(w);
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      if (r >= call.rows) break;
      const float4* const x = reinterpret_cast<const float4*>(call.x + r * call.in + i);
      const float4 low = x[0];
      const float4 high = x[1];
      sums[r] += w[0] * low.x + w[1] * low.y + w[2] * low.z + w[3] * low.w + w[4] * high.x +
                 w[5] * high.y + w[6] * high.z + w[7] * high.w;
    }
  }
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    if (r >= call.rows) break;
    const float sum = warp_sum(sums[r]) + call.bias[output];
    if (lane != 0) continue;
    float& y = call.y[static_cast<std::int64_t>(r) * call.out + output];
    if (kAfter == After::Gelu) {
      y = gelu_tanh(sum);
    } else if (kAfter == After::Add) {
      y += sum;
    } else {
      y = sum;
    }
  }
}

template <typename Number>
__device__ Number number_from(float value);
template <>
__device__ float number_from<float>(float value) {
  return value;
}
template <>
__device__ __nv_bfloat16 number_from<__nv_bfloat16>(float value) {
  return __float2bfloat16_rn(value);
}

struct AttentionSizes {
  int width;
  int heads;
  int capacity;
};

// A block for each row and head: appends the row's own key and value, then one query over all.
template <typename Number>
__global__ void attend(RowTables tables, AttentionSizes sizes, const float* qkv, Number* keys,
                       Number* values, float* result) {
  extern __shared__ float weights[];  // [length]
  __shared__ float shared[kWarps];
  const DeviceRow& row = tables.rows[blockIdx.y];
  if (row.finished != 0) return;
  const int head = static_cast<int>(blockIdx.x);
  const int size = sizes.width / sizes.heads;
  const int length = row.prefix + row.step + 1;
  const std::int64_t slot = static_cast<std::int64_t>(blockIdx.y) * sizes.heads + head;
  Number* const key = keys + slot * sizes.capacity * size;
  Number* const value = values + slot * sizes.capacity * size;
  const float* const q =
      qkv + static_cast<std::int64_t>(blockIdx.y) * 3 * sizes.width + head * size;
  const int thread = static_cast<int>(threadIdx.x);
  for (int i = thread; i < size; i += kThreads) {
    key[static_cast<std::int64_t>(length - 1) * size + i] = number_from<Number>(q[sizes.width + i]);
    value[static_cast<std::int64_t>(length - 1) * size + i] =
        number_from<Number>(q[2 * sizes.width + i]);
  }
  __syncthreads();
  const float scale = rsqrtf(static_cast<float>(size));
  float most = -INFINITY;
  for (int t = thread; t < length; t += kThreads) {
    float sum = 0;
    for (int i = 0; i < size; i += 8) {
      float k[8];
      reinterpret_cast<const Eight<Number>*>(key + static_cast<std::int64_t>(t) * size + i)->get(k);
#pragma unroll
      for (int j = 0; j < 8; ++j) sum += k[j] * q[i + j];
    }
    weights[t] = sum * scale;
    most = fmaxf(most, sum * scale);
  }
  most = warp_max(most);
  if (thread % 32 == 0) shared[thread / 32] = most;
  __syncthreads();
  for (int i = 0; i < kWarps; ++i) most = fmaxf(most, shared[i]);
  float sum = 0;
  for (int t = thread; t < length; t += kThreads) {
    weights[t] = __expf(weights[t] - most);
    sum += weights[t];
  }
  const float total = block_sum(sum, shared);  // and everyone's weights are there
  // Threads side by side read a key's numbers side by side; groups of `size` threads share the
  // keys.
  float* const parts = weights + sizes.capacity;  // [groups, size]
  const int groups = kThreads / size;
  if (thread < groups * size) {
    const int i = thread % size;
    float mixed = 0;
#pragma unroll 8  // so that loads are under way together
    for (int t = thread / size; t < length; t += groups) {
      mixed += weights[t] * static_cast<float>(value[static_cast<std::int64_t>(t) * size + i]);
    }
    parts[thread] = mixed;
  }
  __syncthreads();
  if (thread < size) {
    float mixed = 0;
    for (int g = 0; g < groups; ++g) mixed += parts[g * size + thread];
    result[static_cast<std::int64_t>(blockIdx.y) * sizes.width + head * size + thread] =
        mixed / total;
  }
}

// A block for each row.
__global__ void choose(RowTables tables) {
  extern __shared__ double memory[];
  const int row = static_cast<int>(blockIdx.x);
  if (tables.rows[row].finished != 0) return;
  const sampling::Workspace workspace(memory, tables.ids);
  for (int id = static_cast<int>(threadIdx.x); id < tables.ids; id += sampling::kThreads) {
    workspace.logit[id] = tables.logits[static_cast<std::int64_t>(row) * tables.ids + id];
  }
  __syncthreads();
  sampling::finish_step(tables, row, workspace);
}

template <typename Number>
__global__ void transpose(const float* from, Number* to, int in, int out) {
  __shared__ float tile[32][33];
  const int x = static_cast<int>(threadIdx.x);
  for (int y = static_cast<int>(threadIdx.y); y < 32; y += 8) {
    const int i = static_cast<int>(blockIdx.y) * 32 + y;
    const int o = static_cast<int>(blockIdx.x) * 32 + x;
    if (i < in && o < out) tile[y][x] = from[static_cast<std::int64_t>(i) * out + o];
  }
  __syncthreads();
  for (int y = static_cast<int>(threadIdx.y); y < 32; y += 8) {
    const int o = static_cast<int>(blockIdx.x) * 32 + y;
    const int i = static_cast<int>(blockIdx.y) * 32 + x;
    if (i < in && o < out) {
      to[static_cast<std::int64_t>(o) * in + i] = number_from<Number>(tile[x][y]);
    }
  }
}

template <typename Number>
__global__ void convert(const float* from, Number* to, std::int64_t count) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i < count) to[i] = number_from<Number>(from[i]);
}

template <typename Number>
__global__ void scatter_heads(AttentionSizes sizes, const float* from, Number* to) {
  const int size = sizes.width / sizes.heads;
  const std::int64_t t = blockIdx.x;
  for (int i = static_cast<int>(threadIdx.x); i < sizes.width; i += kThreads) {
    const std::int64_t head = i / size;
    to[(head * sizes.capacity + t) * size + i % size] =
        number_from<Number>(from[t * sizes.width + i]);
  }
}

template <typename Number, After kAfter>
void launch_linear(const LinearCall& call, const Number* weight, cudaStream_t stream) {
  const unsigned blocks = static_cast<unsigned>((call.out + kWarps - 1) / kWarps);
  if (call.rows == 1) {
    linear<Number, 1, kAfter><<<blocks, kThreads, 0, stream>>>(call, weight);
  } else if (call.rows <= 4) {
    linear<Number, 4, kAfter><<<blocks, kThreads, 0, stream>>>(call, weight);
  } else {
    for (int first = 0; first < call.rows; first += 16) {
      LinearCall part = call;
      part.x += static_cast<std::int64_t>(first) * call.in;
      part.y += static_cast<std::int64_t>(first) * call.out;
      part.rows = call.rows - first < 16 ? call.rows - first : 16;
      linear<Number, 16, kAfter><<<blocks, kThreads, 0, stream>>>(part, weight);
    }
  }
}

AttentionSizes sizes_of(const CodeDecoderShape& shape) {
  return {static_cast<int>(shape.width), static_cast<int>(shape.heads),
          static_cast<int>(shape.capacity)};
}

}  // namespace

template <typename Number>
void launch_embed(const CodeDecoderShape& shape, const RowTables& tables,
                  const StepEnds<Number>& ends, const StepBuffers& buffers, cudaStream_t stream) {
  embed<<<static_cast<unsigned>(shape.rows), kThreads, 0, stream>>>(
      tables, ends.embedding, ends.positions, static_cast<int>(shape.width), buffers.x);
}

template <typename Number>
void launch_layer(const CodeDecoderShape& shape, const RowTables& tables,
                  const StepLayer<Number>& layer, const StepBuffers& b, cudaStream_t stream) {
  const auto rows = static_cast<int>(shape.rows);
  const auto width = static_cast<int>(shape.width);
  const auto each_row = static_cast<unsigned>(rows);
  const auto norm = [&](const NormView& view) {
    normalise<<<each_row, kThreads, 0, stream>>>(tables, b.x, view, width, b.normed);
  };
  norm(layer.before_attention);
  launch_linear<Number, After::Nothing>({b.normed, layer.qkv_bias, b.qkv, rows, width, 3 * width},
                                        layer.qkv, stream);
  const dim3 grid(static_cast<unsigned>(shape.heads), each_row);
  const auto shared = (static_cast<std::size_t>(shape.capacity) + kThreads) * sizeof(float);
  attend<Number><<<grid, kThreads, shared, stream>>>(tables, sizes_of(shape), b.qkv, layer.keys,
                                                     layer.values, b.attended);
  launch_linear<Number, After::Add>({b.attended, layer.attention_out_bias, b.x, rows, width, width},
                                    layer.attention_out, stream);
  norm(layer.before_mlp);
  launch_linear<Number, After::Gelu>(
      {b.normed, layer.mlp_in_bias, b.hidden, rows, width, 4 * width}, layer.mlp_in, stream);
  launch_linear<Number, After::Add>({b.hidden, layer.mlp_out_bias, b.x, rows, 4 * width, width},
                                    layer.mlp_out, stream);
}

template <typename Number>
void launch_choice(const CodeDecoderShape& shape, const RowTables& tables,
                   const StepEnds<Number>& ends, const StepBuffers& b, cudaStream_t stream) {
  const auto rows = static_cast<int>(shape.rows);
  const auto width = static_cast<int>(shape.width);
  normalise_twice<<<static_cast<unsigned>(rows), kThreads, 0, stream>>>(
      tables, b.x, ends.last_norm, ends.final_norm, width, b.normed);
  launch_linear<Number, After::Nothing>(
      {b.normed, ends.head_bias, tables.logits, rows, width, tables.ids}, ends.head, stream);
  const int shared = sampling::scratch_bytes(tables.ids);
  if (shared > 48 * 1024) {
    cudaFuncSetAttribute(choose, cudaFuncAttributeMaxDynamicSharedMemorySize, shared);
  }
  choose<<<static_cast<unsigned>(rows), sampling::kThreads, static_cast<std::size_t>(shared),
           stream>>>(tables);
}

template <typename Number>
void launch_transpose(const float* from, Number* to, std::int64_t in, std::int64_t out,
                      cudaStream_t stream) {
  const dim3 grid(static_cast<unsigned>((out + 31) / 32), static_cast<unsigned>((in + 31) / 32));
  transpose<Number>
      <<<grid, dim3(32, 8), 0, stream>>>(from, to, static_cast<int>(in), static_cast<int>(out));
}

template <typename Number>
void launch_convert(const float* from, Number* to, std::int64_t count, cudaStream_t stream) {
  convert<Number>
      <<<static_cast<unsigned>((count + kThreads - 1) / kThreads), kThreads, 0, stream>>>(from, to,
                                                                                          count);
}

template <typename Number>
void launch_scatter_heads(const CodeDecoderShape& shape, const float* from, Number* to,
                          std::int64_t length, cudaStream_t stream) {
  if (length == 0) return;
  scatter_heads<Number>
      <<<static_cast<unsigned>(length), kThreads, 0, stream>>>(sizes_of(shape), from, to);
}

#define MYXTTS_STEPS_OF(Number)                                                                   \
  template void launch_embed<Number>(const CodeDecoderShape&, const RowTables&,                   \
                                     const StepEnds<Number>&, const StepBuffers&, cudaStream_t);  \
  template void launch_layer<Number>(const CodeDecoderShape&, const RowTables&,                   \
                                     const StepLayer<Number>&, const StepBuffers&, cudaStream_t); \
  template void launch_choice<Number>(const CodeDecoderShape&, const RowTables&,                  \
                                      const StepEnds<Number>&, const StepBuffers&, cudaStream_t); \
  template void launch_transpose<Number>(const float*, Number*, std::int64_t, std::int64_t,       \
                                         cudaStream_t);                                           \
  template void launch_convert<Number>(const float*, Number*, std::int64_t, cudaStream_t);        \
  template void launch_scatter_heads<Number>(const CodeDecoderShape&, const float*, Number*,      \
                                             std::int64_t, cudaStream_t);
MYXTTS_STEPS_OF(float)
MYXTTS_STEPS_OF(__nv_bfloat16)
#undef MYXTTS_STEPS_OF

}  // namespace myxtts
