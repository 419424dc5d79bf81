// SPDX-License-Identifier: Apache-2.0
#include "kernels/adamw/adamw_kernels.cuh"

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "kernels/adamw/adamw.h"
#include "kernels/adamw/adamw_numbers.h"

// A warp works on kAdamWBlock numbers: each lane on two groups of four neighbours, so that every
// load and store of the warp is one piece of memory, whatever the width of its numbers.

namespace myxtts {
namespace {

using namespace adamw;

constexpr int kWarp = 32;
constexpr int kWarps = 8;  // of a thread block
constexpr int kGroup = 4;
constexpr int kGroups = 2;
constexpr unsigned kAll = 0xffffffffU;
constexpr int kSumThreads = 1024;

static_assert(kWarp * kGroup * kGroups == kAdamWBlock);

struct Four {
  float n[kGroup];
};

template <NumberFormat kFormat>
__device__ Four load_four(const void* array, std::int64_t place) {
  if constexpr (kFormat == NumberFormat::Fp32) {
    const float4 v = *reinterpret_cast<const float4*>(static_cast<const float*>(array) + place);
    return {{v.x, v.y, v.z, v.w}};
  } else {
    const uint2 v =
        *reinterpret_cast<const uint2*>(static_cast<const std::uint16_t*>(array) + place);
    const std::uint16_t raw[kGroup] = {
        static_cast<std::uint16_t>(v.x), static_cast<std::uint16_t>(v.x >> 16),
        static_cast<std::uint16_t>(v.y), static_cast<std::uint16_t>(v.y >> 16)};
    Four four;
    for (int i = 0; i < kGroup; ++i) {
      four.n[i] = kFormat == NumberFormat::Bf16 ? from_bf16(raw[i])
                                                : __half2float(__ushort_as_half(raw[i]));
    }
    return four;
  }
}

template <NumberFormat kFormat>
__device__ Four load_below(const void* array, std::int64_t place, std::int64_t count) {
  if (place + kGroup <= count) return load_four<kFormat>(array, place);
  Four four = {};
  for (int i = 0; i < kGroup && place + i < count; ++i) {
    if constexpr (kFormat == NumberFormat::Fp32) {
      four.n[i] = static_cast<const float*>(array)[place + i];
    } else {
      const std::uint16_t raw = static_cast<const std::uint16_t*>(array)[place + i];
      four.n[i] =
          kFormat == NumberFormat::Bf16 ? from_bf16(raw) : __half2float(__ushort_as_half(raw));
    }
  }
  return four;
}

__device__ void store_shorts(void* array, std::int64_t place, const std::uint16_t (&raw)[kGroup]) {
  *reinterpret_cast<uint2*>(static_cast<std::uint16_t*>(array) + place) = make_uint2(
      raw[0] | static_cast<unsigned>(raw[1]) << 16, raw[2] | static_cast<unsigned>(raw[3]) << 16);
}

template <NumberFormat kFormat>
__device__ void store_four(void* array, std::int64_t place, const Four& four) {
  if constexpr (kFormat == NumberFormat::Fp32) {
    *reinterpret_cast<float4*>(static_cast<float*>(array) + place) =
        make_float4(four.n[0], four.n[1], four.n[2], four.n[3]);
  } else {
    std::uint16_t raw[kGroup];
    for (int i = 0; i < kGroup; ++i) {
      raw[i] = kFormat == NumberFormat::Bf16 ? to_bf16(four.n[i])
                                             : __half_as_ushort(__float2half_rn(four.n[i]));
    }
    store_shorts(array, place, raw);
  }
}

__device__ float warp_sum(float value) {
  for (int lanes = kWarp / 2; lanes > 0; lanes /= 2) value += __shfl_xor_sync(kAll, value, lanes);
  return value;
}

__device__ float warp_max(float value) {
  for (int lanes = kWarp / 2; lanes > 0; lanes /= 2) {
    value = fmaxf(value, __shfl_xor_sync(kAll, value, lanes));
  }
  return value;
}

// The averages of a lane's numbers.
struct LaneMoments {
  Four means[kGroups];
  Four squares[kGroups];
};

__device__ uchar4 load_codes(const void* array, std::int64_t place) {
  return *reinterpret_cast<const uchar4*>(static_cast<const std::uint8_t*>(array) + place);
}

template <Moments kMoments>
__device__ void load_group(const AdamWArrays& arrays, std::int64_t place, Four& means,
                           Four& squares) {
  if constexpr (kMoments == Moments::EightBit) {
    const uchar4 m = load_codes(arrays.means.numbers, place);
    const uchar4 s = load_codes(arrays.squares.numbers, place);
    const float mean_scale = arrays.means.scales[place / kAdamWBlock];
    const float root_scale = arrays.squares.scales[place / kAdamWBlock];
    const std::uint8_t mean_codes[kGroup] = {m.x, m.y, m.z, m.w};
    const std::uint8_t root_codes[kGroup] = {s.x, s.y, s.z, s.w};
    for (int i = 0; i < kGroup; ++i) {
      means.n[i] = decode_mean(mean_codes[i]) * mean_scale;
      const float root = decode<kSquareBits>(root_codes[i]) * root_scale;
      squares.n[i] = root * root;
    }
  } else {
    constexpr auto kFormat = kMoments == Moments::Fp32 ? NumberFormat::Fp32 : NumberFormat::Bf16;
    means = load_four<kFormat>(arrays.means.numbers, place);
    squares = load_four<kFormat>(arrays.squares.numbers, place);
  }
}

__device__ void store_bf16_group(const AdamWArrays& arrays, std::int64_t place, std::uint32_t key,
                                 const Four& means, const Four& squares) {
  std::uint16_t raw_means[kGroup];
  std::uint16_t raw_squares[kGroup];
  for (int i = 0; i < kGroup; ++i) {
    const std::uint32_t random = random_bits(key, static_cast<std::uint32_t>(place + i));
    raw_means[i] = to_bf16_at_random(means.n[i], random);
    raw_squares[i] = to_bf16_at_random(squares.n[i], random >> 16);
  }
  store_shorts(arrays.means.numbers, place, raw_means);
  store_shorts(arrays.squares.numbers, place, raw_squares);
}

struct BlockScales {
  float mean = 0;  // the largest of a block
  float root = 0;
};

__device__ void store_code_group(const AdamWArrays& arrays, std::int64_t place, std::uint32_t key,
                                 const BlockScales& largest, const Four& means,
                                 const Four& squares) {
  const float to_mean = largest.mean > 0 ? top<kMeanBits>() / largest.mean : 0.0F;
  const float to_root = largest.root > 0 ? top<kSquareBits>() / largest.root : 0.0F;
  std::uint8_t m[kGroup];
  std::uint8_t s[kGroup];
  for (int i = 0; i < kGroup; ++i) {
    const std::uint32_t random = random_bits(key, static_cast<std::uint32_t>(place + i));
    m[i] = encode_mean(means.n[i] * to_mean, random);
    s[i] =
        static_cast<std::uint8_t>(encode<kSquareBits>(sqrtf(squares.n[i]) * to_root, random >> 16));
  }
  *reinterpret_cast<uchar4*>(static_cast<std::uint8_t*>(arrays.means.numbers) + place) =
      make_uchar4(m[0], m[1], m[2], m[3]);
  *reinterpret_cast<uchar4*>(static_cast<std::uint8_t*>(arrays.squares.numbers) + place) =
      make_uchar4(s[0], s[1], s[2], s[3]);
}

__device__ BlockScales largest_of(const LaneMoments& moments) {
  float mean = 0;
  float square = 0;
  for (int group = 0; group < kGroups; ++group) {
    for (int i = 0; i < kGroup; ++i) {
      mean = fmaxf(mean, fabsf(moments.means[group].n[i]));
      square = fmaxf(square, moments.squares[group].n[i]);
    }
  }
  return {.mean = warp_max(mean), .root = sqrtf(warp_max(square))};
}

// What the numbers of an update are kept in.
template <NumberFormat kGradientFormat, NumberFormat kCopyFormat, Moments kMomentFormat>
struct Formats {
  static constexpr NumberFormat kGradient = kGradientFormat;
  static constexpr NumberFormat kCopy = kCopyFormat;  // Fp32: there is no copy
  static constexpr Moments kMoments = kMomentFormat;
};

template <typename F>
__device__ void store_lane(const AdamWArrays& arrays, std::int64_t first, std::int64_t lane_place,
                           std::uint32_t key, const LaneMoments& moments) {
  [[maybe_unused]] BlockScales largest;
  if constexpr (F::kMoments == Moments::EightBit) {
    largest = largest_of(moments);
    if (threadIdx.x % kWarp == 0) {
      arrays.means.scales[first / kAdamWBlock] = largest.mean / top<kMeanBits>();
      arrays.squares.scales[first / kAdamWBlock] = largest.root / top<kSquareBits>();
    }
  }
  for (int group = 0; group < kGroups; ++group) {
    const std::int64_t place = lane_place + group * kWarp * kGroup;
    const Four& means = moments.means[group];
    const Four& squares = moments.squares[group];
    if constexpr (F::kMoments == Moments::Fp32) {
      store_four<NumberFormat::Fp32>(arrays.means.numbers, place, means);
      store_four<NumberFormat::Fp32>(arrays.squares.numbers, place, squares);
    } else if constexpr (F::kMoments == Moments::Bf16) {
      store_bf16_group(arrays, place, key, means, squares);
    } else {
      store_code_group(arrays, place, key, largest, means, squares);
    }
  }
}

template <typename F>
__global__ void __launch_bounds__(kWarps* kWarp)
    apply_kernel(AdamWArrays arrays, AdamWPart part, AdamWRule rule, const UpdateState* state,
                 void* to_clear) {
  const std::int64_t block = static_cast<std::int64_t>(blockIdx.x) * kWarps + threadIdx.x / kWarp;
  if (block * kAdamWBlock >= part.count) return;
  const std::int64_t first = part.first + block * kAdamWBlock;
  const std::int64_t within = static_cast<std::int64_t>(threadIdx.x % kWarp) * kGroup;
  if (state->skip == 0) {
    const Factors factors = factors_of(rule, *state);
    const float decay = first < arrays.decayed ? factors.decay_factor : 1.0F;
    LaneMoments moments;
    Four gradients[kGroups];
    Four weights[kGroups];
    for (int group = 0; group < kGroups; ++group) {
      const std::int64_t place = within + group * kWarp * kGroup;
      gradients[group] =
          load_below<F::kGradient>(part.gradients, block * kAdamWBlock + place, part.count);
      weights[group] = load_four<NumberFormat::Fp32>(arrays.weights, first + place);
      load_group<F::kMoments>(arrays, first + place, moments.means[group], moments.squares[group]);
    }
    for (int group = 0; group < kGroups; ++group) {
      for (int i = 0; i < kGroup; ++i) {
        if (!finite(gradients[group].n[i])) continue;
        Element element{.weight = weights[group].n[i],
                        .mean = moments.means[group].n[i],
                        .square = moments.squares[group].n[i]};
        step(factors, gradients[group].n[i], decay, element);
        weights[group].n[i] = element.weight;
        moments.means[group].n[i] = element.mean;
        moments.squares[group].n[i] = element.square;
      }
      const std::int64_t place = first + within + group * kWarp * kGroup;
      store_four<NumberFormat::Fp32>(arrays.weights, place, weights[group]);
      if constexpr (F::kCopy != NumberFormat::Fp32) {
        store_four<F::kCopy>(arrays.copy, place, weights[group]);
      }
    }
    store_lane<F>(arrays, first, first + within, state->rounding, moments);
  }
  if (to_clear == nullptr) return;
  for (int group = 0; group < kGroups; ++group) {
    store_four<F::kGradient>(to_clear, first + within + group * kWarp * kGroup, Four{});
  }
}

// One sum of squares for each kAdamWAlignment numbers, by a warp.
template <NumberFormat kFormat>
__global__ void __launch_bounds__(kWarps* kWarp) measure_kernel(AdamWPart part, float* sums) {
  const std::int64_t piece = static_cast<std::int64_t>(blockIdx.x) * kWarps + threadIdx.x / kWarp;
  if (piece * kAdamWAlignment >= part.count) return;
  const std::int64_t lane = static_cast<std::int64_t>(threadIdx.x % kWarp) * kGroup;
  constexpr int kTimes = kAdamWAlignment / (kWarp * kGroup);
  float sum = 0;
#pragma unroll
  for (int time = 0; time < kTimes; ++time) {
    const Four four = load_below<kFormat>(
        part.gradients, piece * kAdamWAlignment + time * kWarp * kGroup + lane, part.count);
    for (int i = 0; i < kGroup; ++i) sum += four.n[i] * four.n[i];
  }
  sum = warp_sum(sum);
  if (threadIdx.x % kWarp == 0) sums[part.first / kAdamWAlignment + piece] = sum;
}

// In one order, so that it gives the same each time. All threads get the sum.
__device__ double sum_of(const float* sums, std::int64_t count) {
  __shared__ double parts[kSumThreads];
  double sum = 0;
#pragma unroll 8
  for (std::int64_t i = threadIdx.x; i < count; i += kSumThreads) {
    sum += static_cast<double>(sums[i]);
  }
  parts[threadIdx.x] = sum;
  for (int half = kSumThreads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (static_cast<int>(threadIdx.x) < half) parts[threadIdx.x] += parts[threadIdx.x + half];
  }
  __syncthreads();
  return parts[0];
}

__global__ void decide_kernel(AdamWRule rule, UpdateState* state, const float* sums,
                              std::int64_t count) {
  const double squares = sum_of(sums, count);
  if (threadIdx.x == 0) decide(rule, *state, squares);
}

__global__ void report_kernel(UpdateState* state, const float* sums, std::int64_t count) {
  const double squares = sum_of(sums, count);
  if (threadIdx.x == 0) state->report.gradient_norm = sqrt(squares);
}

__global__ void prepare_kernel(UpdateState* state, std::int64_t step, double learning_rate) {
  state->step = step;
  state->learning_rate = learning_rate;
}

template <NumberFormat kFormat>
__global__ void add_up_kernel(void* gradients, float* sums, std::int64_t count) {
  const std::int64_t place =
      (static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x) * kGroup;
  if (place >= count) return;
  const Four gradient = load_four<kFormat>(gradients, place);
  Four sum = load_four<NumberFormat::Fp32>(sums, place);
  for (int i = 0; i < kGroup; ++i) sum.n[i] += gradient.n[i];
  store_four<NumberFormat::Fp32>(sums, place, sum);
  store_four<kFormat>(gradients, place, Four{});
}

unsigned blocks_for(std::int64_t count, std::int64_t of_one) {
  return static_cast<unsigned>((count + of_one - 1) / of_one);
}

template <typename F>
void launch_apply(cudaStream_t stream, const AdamWArrays& arrays, const AdamWPart& part,
                  const AdamWRule& rule, const UpdateState* state, void* to_clear) {
  apply_kernel<F><<<blocks_for(part.count, kWarps * kAdamWBlock), kWarps * kWarp, 0, stream>>>(
      arrays, part, rule, state, to_clear);
}

using LaunchApply =
    decltype(&launch_apply<Formats<NumberFormat::Fp32, NumberFormat::Fp32, Moments::Fp32>>);

template <NumberFormat kGradient, NumberFormat kCopy>
LaunchApply with_moments(Moments moments) {
  switch (moments) {
    case Moments::Fp32:
      return &launch_apply<Formats<kGradient, kCopy, Moments::Fp32>>;
    case Moments::Bf16:
      return &launch_apply<Formats<kGradient, kCopy, Moments::Bf16>>;
    default:
      return &launch_apply<Formats<kGradient, kCopy, Moments::EightBit>>;
  }
}

LaunchApply choose_apply(const AdamWArrays& arrays) {
  using enum NumberFormat;
  const NumberFormat copy = arrays.copy == nullptr ? Fp32 : arrays.copy_format;
  if (copy == Fp32) return with_moments<Fp32, Fp32>(arrays.moments);
  if (arrays.gradient_format == Fp32) {
    return copy == Bf16 ? with_moments<Fp32, Bf16>(arrays.moments)
                        : with_moments<Fp32, Fp16>(arrays.moments);
  }
  return copy == Bf16 ? with_moments<Bf16, Bf16>(arrays.moments)
                      : with_moments<Fp16, Fp16>(arrays.moments);
}

}  // namespace

cudaError_t launch_adamw_apply(cudaStream_t stream, const AdamWArrays& arrays,
                               const AdamWPart& part, const AdamWRule& rule,
                               const UpdateState* state, void* to_clear) {
  choose_apply(arrays)(stream, arrays, part, rule, state, to_clear);
  return cudaGetLastError();
}

cudaError_t launch_adamw_measure(cudaStream_t stream, NumberFormat format, const AdamWPart& part,
                                 float* sums) {
  const unsigned blocks = blocks_for(part.count, kWarps * kAdamWAlignment);
  constexpr int kThreads = kWarps * kWarp;
  if (format == NumberFormat::Fp32) {
    measure_kernel<NumberFormat::Fp32><<<blocks, kThreads, 0, stream>>>(part, sums);
  } else if (format == NumberFormat::Bf16) {
    measure_kernel<NumberFormat::Bf16><<<blocks, kThreads, 0, stream>>>(part, sums);
  } else {
    measure_kernel<NumberFormat::Fp16><<<blocks, kThreads, 0, stream>>>(part, sums);
  }
  return cudaGetLastError();
}

cudaError_t launch_adamw_decide(cudaStream_t stream, const AdamWRule& rule, UpdateState* state,
                                const float* sums, std::int64_t count) {
  decide_kernel<<<1, kSumThreads, 0, stream>>>(rule, state, sums, count);
  return cudaGetLastError();
}

cudaError_t launch_adamw_report(cudaStream_t stream, UpdateState* state, const float* sums,
                                std::int64_t count) {
  report_kernel<<<1, kSumThreads, 0, stream>>>(state, sums, count);
  return cudaGetLastError();
}

cudaError_t launch_adamw_prepare(cudaStream_t stream, UpdateState* state, std::int64_t step,
                                 double learning_rate) {
  prepare_kernel<<<1, 1, 0, stream>>>(state, step, learning_rate);
  return cudaGetLastError();
}

cudaError_t launch_adamw_add_up(cudaStream_t stream, void* gradients, NumberFormat format,
                                float* sums, std::int64_t count) {
  constexpr int kThreads = 256;
  const unsigned blocks = blocks_for(count, kThreads * kGroup);
  if (format == NumberFormat::Bf16) {
    add_up_kernel<NumberFormat::Bf16><<<blocks, kThreads, 0, stream>>>(gradients, sums, count);
  } else {
    add_up_kernel<NumberFormat::Fp16><<<blocks, kThreads, 0, stream>>>(gradients, sums, count);
  }
  return cudaGetLastError();
}

}  // namespace myxtts
