// SPDX-License-Identifier: Apache-2.0
#include <cstdint>

#include "device/cuda/runtime.h"
#include "kernels/cuda_kernels.h"
#include "kernels/ops/column_sums.cuh"
#include "kernels/ops/vectors.cuh"

// A block takes some frames of a clip and all their channels; a thread a vector of neighbouring
// channels, which lies in one group. Sums over time are joined over the blocks of a clip in a fixed
// order.

namespace myxtts {
namespace {

using device::kVector;

constexpr int kThreads = 128;
constexpr int kFramesOfBlock = 16;
constexpr int kGroupThreads = 256;  // of the kernel that joins sums of one group

struct Span {
  std::int64_t first;
  std::int64_t last;
};

__device__ inline Span frames_of_block(std::int64_t frames) {
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * kFramesOfBlock;
  return {first, min(first + kFramesOfBlock, frames)};
}

// A number near a group's mean, so that little is lost where squares of differences to it are
// summed: its first one.
template <typename T>
__device__ inline float pivot(const T* x, const GroupNormShape& shape, std::int64_t group) {
  return device::to_float(
      x[blockIdx.y * shape.frames * shape.width + group * (shape.width / shape.groups)]);
}

// parts [clips, blocks, groups, 2]: the sum of x - pivot, and of its square.
template <typename T>
__global__ void __launch_bounds__(kThreads)
    sum_groups(GroupNormShape shape, const T* x, float* parts) {
  __shared__ float2 of_vectors[kGroupNormWidest / kVector];
  const std::int64_t vectors = shape.width / kVector;
  const std::int64_t group_vectors = vectors / shape.groups;
  const Span span = frames_of_block(shape.frames);
  const T* clip = x + static_cast<std::int64_t>(blockIdx.y) * shape.frames * shape.width;
  for (std::int64_t v = threadIdx.x; v < vectors; v += kThreads) {
    const float center = pivot(x, shape, v / group_vectors);
    float2 sums = {0, 0};
    for (std::int64_t frame = span.first; frame < span.last; ++frame) {
      float numbers[kVector];
      device::load(clip + frame * shape.width + v * kVector, numbers);
#pragma unroll
      for (int i = 0; i < kVector; ++i) {
        sums.x += numbers[i] - center;
        sums.y += (numbers[i] - center) * (numbers[i] - center);
      }
    }
    of_vectors[v] = sums;
  }
  __syncthreads();
  for (std::int64_t group = threadIdx.x; group < shape.groups; group += kThreads) {
    float2 sums = {0, 0};
    for (std::int64_t v = group * group_vectors; v < (group + 1) * group_vectors; ++v) {
      sums.x += of_vectors[v].x;
      sums.y += of_vectors[v].y;
    }
    const std::int64_t part = static_cast<std::int64_t>(blockIdx.y) * gridDim.x + blockIdx.x;
    reinterpret_cast<float2*>(parts)[part * shape.groups + group] = sums;
  }
}

template <typename T>
__global__ void __launch_bounds__(kThreads) normalise(GroupNormForward call, const float* parts) {
  __shared__ float2 statistics[kMostGroups];  // mean, inverse of the deviation
  const GroupNormShape& shape = call.shape;
  const T* x = static_cast<const T*>(call.x);
  for (std::int64_t group = threadIdx.x; group < shape.groups; group += kThreads) {
    float2 sums = {0, 0};
    for (unsigned block = 0; block < gridDim.x; ++block) {
      const std::int64_t part = static_cast<std::int64_t>(blockIdx.y) * gridDim.x + block;
      const float2 more = reinterpret_cast<const float2*>(parts)[part * shape.groups + group];
      sums.x += more.x;
      sums.y += more.y;
    }
    const float count = static_cast<float>(shape.frames * (shape.width / shape.groups));
    const float shifted = sums.x / count;
    const float variance = fmaxf(sums.y / count - shifted * shifted, 0.0F);
    const float mean = pivot(x, shape, group) + shifted;
    statistics[group] = {mean, rsqrtf(variance + static_cast<float>(call.epsilon))};
    if (blockIdx.x == 0) {
      call.mean[blockIdx.y * shape.groups + group] = mean;
      call.inverse[blockIdx.y * shape.groups + group] = statistics[group].y;
    }
  }
  __syncthreads();

  const std::int64_t vectors = shape.width / kVector;
  const std::int64_t group_vectors = vectors / shape.groups;
  const Span span = frames_of_block(shape.frames);
  const std::int64_t clip = static_cast<std::int64_t>(blockIdx.y) * shape.frames * shape.width;
  for (std::int64_t v = threadIdx.x; v < vectors; v += kThreads) {
    const float2 group = statistics[v / group_vectors];
    float scale[kVector];
    float shift[kVector];
    device::load(static_cast<const T*>(call.weight) + v * kVector, scale);
    device::load(static_cast<const T*>(call.bias) + v * kVector, shift);
#pragma unroll
    for (int i = 0; i < kVector; ++i) {
      scale[i] *= group.y;
      shift[i] -= group.x * scale[i];
    }
    for (std::int64_t frame = span.first; frame < span.last; ++frame) {
      const std::int64_t place = clip + frame * shape.width + v * kVector;
      float numbers[kVector];
      device::load(x + place, numbers);
#pragma unroll
      for (int i = 0; i < kVector; ++i) numbers[i] = numbers[i] * scale[i] + shift[i];
      device::store(static_cast<T*>(call.y) + place, numbers);
    }
  }
}

// parts [clips, blocks, 2, width]: the sums over a block's frames of dy · normalised and of dy.
template <typename T>
__global__ void __launch_bounds__(kThreads) sum_channels(GroupNormBackward call, float* parts) {
  const GroupNormShape& shape = call.shape;
  const std::int64_t vectors = shape.width / kVector;
  const std::int64_t group_vectors = vectors / shape.groups;
  const Span span = frames_of_block(shape.frames);
  const std::int64_t clip = static_cast<std::int64_t>(blockIdx.y) * shape.frames * shape.width;
  const std::int64_t part = static_cast<std::int64_t>(blockIdx.y) * gridDim.x + blockIdx.x;
  for (std::int64_t v = threadIdx.x; v < vectors; v += kThreads) {
    const std::int64_t group = blockIdx.y * shape.groups + v / group_vectors;
    const float mean = call.mean[group];
    const float inverse = call.inverse[group];
    float with_normed[kVector] = {};
    float alone[kVector] = {};
    for (std::int64_t frame = span.first; frame < span.last; ++frame) {
      const std::int64_t place = clip + frame * shape.width + v * kVector;
      float x[kVector];
      float dy[kVector];
      device::load(static_cast<const T*>(call.x) + place, x);
      device::load(static_cast<const T*>(call.dy) + place, dy);
#pragma unroll
      for (int i = 0; i < kVector; ++i) {
        with_normed[i] += dy[i] * (x[i] - mean) * inverse;
        alone[i] += dy[i];
      }
    }
    device::store(parts + 2 * part * shape.width + v * kVector, with_normed);
    device::store(parts + (2 * part + 1) * shape.width + v * kVector, alone);
  }
}

// One block for each group and clip. Joins `parts` over a clip's blocks to `channels`
// [clips, 2, width], and these, weighted, to `means` [clips, groups] of a group's dy · w ·
// normalised and of dy · w.
template <typename T>
__global__ void __launch_bounds__(kGroupThreads)
    join_sums(GroupNormShape shape, const T* weight, const float* parts, int blocks,
              float* channels, float2* means) {
  __shared__ float2 shared[kGroupThreads];
  const std::int64_t group_width = shape.width / shape.groups;
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * group_width;
  const std::int64_t clip = blockIdx.y;
  float2 weighted = {0, 0};
  for (std::int64_t c = threadIdx.x; c < group_width; c += kGroupThreads) {
    const std::int64_t channel = first + c;
    float2 sums = {0, 0};
    for (int block = 0; block < blocks; ++block) {
      const float* part = parts + 2 * (clip * blocks + block) * shape.width + channel;
      sums.x += part[0];
      sums.y += part[shape.width];
    }
    channels[2 * clip * shape.width + channel] = sums.x;
    channels[(2 * clip + 1) * shape.width + channel] = sums.y;
    weighted.x += sums.x * device::to_float(weight[channel]);
    weighted.y += sums.y * device::to_float(weight[channel]);
  }
  shared[threadIdx.x] = weighted;
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (int other = 1; other < kGroupThreads && other < group_width; ++other) {
    weighted.x += shared[other].x;
    weighted.y += shared[other].y;
  }
  const float count = static_cast<float>(shape.frames * group_width);
  means[clip * shape.groups + blockIdx.x] = {weighted.x / count, weighted.y / count};
}

template <typename T>
__global__ void __launch_bounds__(kThreads)
    differentiate(GroupNormBackward call, const float2* means) {
  const GroupNormShape& shape = call.shape;
  const std::int64_t vectors = shape.width / kVector;
  const std::int64_t group_vectors = vectors / shape.groups;
  const Span span = frames_of_block(shape.frames);
  const std::int64_t clip = static_cast<std::int64_t>(blockIdx.y) * shape.frames * shape.width;
  for (std::int64_t v = threadIdx.x; v < vectors; v += kThreads) {
    const std::int64_t group = blockIdx.y * shape.groups + v / group_vectors;
    const float mean = call.mean[group];
    const float inverse = call.inverse[group];
    const float2 of_group = means[group];
    float weight[kVector];
    device::load(static_cast<const T*>(call.weight) + v * kVector, weight);
    for (std::int64_t frame = span.first; frame < span.last; ++frame) {
      const std::int64_t place = clip + frame * shape.width + v * kVector;
      float x[kVector];
      float dy[kVector];
      device::load(static_cast<const T*>(call.x) + place, x);
      device::load(static_cast<const T*>(call.dy) + place, dy);
#pragma unroll
      for (int i = 0; i < kVector; ++i) {
        const float normed = (x[i] - mean) * inverse;
        x[i] = inverse * (dy[i] * weight[i] - of_group.y - normed * of_group.x);
      }
      device::store(static_cast<T*>(call.dx) + place, x);
    }
  }
}

dim3 blocks_of(const GroupNormShape& shape) {
  return {static_cast<unsigned>((shape.frames + kFramesOfBlock - 1) / kFramesOfBlock),
          static_cast<unsigned>(shape.clips)};
}

}  // namespace

void cuda::group_norm_forward(const GroupNormForward& call) {
  const dim3 blocks = blocks_of(call.shape);
  const Workspace parts(blocks.x * blocks.y * static_cast<std::size_t>(call.shape.groups) * 2 *
                        sizeof(float));
  auto* sums = static_cast<float*>(parts.data());
  device::with_number(call.shape.number, [&](auto number) {
    using T = decltype(number);
    sum_groups<T><<<blocks, kThreads, 0, current_stream()>>>(call.shape,
                                                             static_cast<const T*>(call.x), sums);
    normalise<T><<<blocks, kThreads, 0, current_stream()>>>(call, sums);
  });
  check(cudaGetLastError(), "normalising groups");
}

void cuda::group_norm_backward(const GroupNormBackward& call) {
  const GroupNormShape& shape = call.shape;
  const dim3 blocks = blocks_of(shape);
  const auto width = static_cast<std::size_t>(shape.width);
  const auto groups = static_cast<unsigned>(shape.groups);
  const Workspace parts(blocks.x * blocks.y * 2 * width * sizeof(float));
  const Workspace channels(blocks.y * 2 * width * sizeof(float));
  const Workspace means(blocks.y * groups * sizeof(float2));
  auto* sums = static_cast<float*>(parts.data());
  auto* channel_sums = static_cast<float*>(channels.data());
  auto* group_means = static_cast<float2*>(means.data());
  device::with_number(shape.number, [&](auto number) {
    using T = decltype(number);
    sum_channels<T><<<blocks, kThreads, 0, current_stream()>>>(call, sums);
    join_sums<T><<<dim3(groups, blocks.y), kGroupThreads, 0, current_stream()>>>(
        shape, static_cast<const T*>(call.weight), sums, static_cast<int>(blocks.x), channel_sums,
        group_means);
    differentiate<T><<<blocks, kThreads, 0, current_stream()>>>(call, group_means);
    device::sum_parts(channel_sums, static_cast<int>(shape.clips), shape.width,
                      static_cast<T*>(call.d_weight), static_cast<T*>(call.d_bias));
  });
  check(cudaGetLastError(), "differentiating a group norm");
}

}  // namespace myxtts
