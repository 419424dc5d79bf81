// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <cuda_bf16.h>

#include "kernels/decode/code_sampling_cuda.cuh"
#include "kernels/decode/decode_kernels.cuh"

namespace myxtts::fused {

// The threads of a block and its shared memory.

inline constexpr int kWarps = 8;  // that compute; one more copies
inline constexpr int kComputing = kWarps * 32;
inline constexpr int kThreads = kComputing + 32;
// Copies a block has under way at once: enough to keep the memory busy, and no more, for what
// blocks publish to each other waits in the same queues.
inline constexpr int kUnderWay = 2;
inline constexpr float kNormEpsilon = 1e-5F;
inline constexpr std::uint32_t kUnpublished = 0xFFFFFFFFU;  // a NaN that no computation gives
inline constexpr int kLanesOfKey = 8;                       // each with 8 numbers of the head
inline constexpr int kKeysOfWarp = 32 / kLanesOfKey;
inline constexpr int kKeysOfTurn = kWarps * kKeysOfWarp;
inline constexpr int kTurns = (kMostSplitKeys + kKeysOfTurn - 1) / kKeysOfTurn;
inline constexpr int kTaskKeys = 64;
inline constexpr int kTaskTurns = kTaskKeys / kKeysOfWarp;
inline constexpr int kMostTasks = 2 * ((kMostKeys + kTaskKeys - 1) / kTaskKeys);
inline constexpr int kKeyBytes = kHeadWidth * 2;
inline constexpr int kPartFloats = kHeadWidth + 2;
inline constexpr int kPadding =
    8;  // bf16 numbers between rows of an operand, against bank conflicts

// Shared memory of a block, in bytes from its start. kRows is the capacity in rows.
template <int kRows>
struct Layout {
  static constexpr int kReplicas = replicas_for(kRows);
  static constexpr int kOperandQuarters = kRows <= 2 ? 4 : 1;  // of 1024 inputs each
  static constexpr int kOperandStride = kWidth + kPadding;
  static constexpr int kOperand = 2 * kRows * kOperandQuarters * kOperandStride * 2;  // both halves
  static constexpr int kSums = 2 * kWarps * 4 * kRows * kColumns * 4;  // [2][warp][tile][row][8]
  static constexpr int kMoments = 2 * kRows * kWarps * 8;
  static constexpr int kParts = (kRows == 1 ? 2 * kWarps : kMostTasks) * kPartFloats * 4;
  static constexpr int kScratch = sampling::scratch_bytes(kMostIds);
  static constexpr int kBarriers = 256 + kMostRows * 8;  // and where the rows stand
  static constexpr int kShared = kOperand > kScratch ? kOperand : kScratch;
  static constexpr int kRing = (kBarriers + kShared + kSums + kMoments + kParts + 127) / 128 * 128;
  static constexpr int kSlots = (232448 - kRing) / kSlotBytes;
  static constexpr int kBytes = kRing + kSlots * kSlotBytes;
  static_assert(kSlots >= 5 && kSlots <= 16);
};

// What the fused step needs of the chip: copies in the background, barriers, tensor cores, and how
// blocks publish numbers to each other.

__device__ inline std::uint32_t shared_address(const void* pointer) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(pointer));
}

__device__ inline void barrier_init(std::uint64_t* barrier, std::uint32_t count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(barrier)),
               "r"(count));
}

__device__ inline void barrier_wait(std::uint64_t* barrier, std::uint32_t phase) {
  asm volatile(
      "{\n"
      ".reg .pred done;\n"
      "again:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
      "@!done bra again;\n"
      "}\n" ::"r"(shared_address(barrier)),
      "r"(phase)
      : "memory");
}

__device__ inline void barrier_arrive(std::uint64_t* barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(barrier))
               : "memory");
}

// The barrier's phase will end when so many bytes have come.
__device__ inline void barrier_expect(std::uint64_t* barrier, std::uint32_t bytes) {
  asm volatile(
      "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)),
      "r"(bytes)
      : "memory");
}

// Copies to shared memory in the background, and counts the bytes at the barrier.
__device__ inline void copy_to_shared(void* to, const void* from, std::uint32_t bytes,
                                      std::uint64_t* barrier, std::uint64_t policy) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [%0], "
      "[%1], "
      "%2, [%3], %4;" ::"r"(shared_address(to)),
      "l"(from), "r"(bytes), "r"(shared_address(barrier)), "l"(policy)
      : "memory");
}

__device__ inline std::uint64_t read_once_policy() {
  std::uint64_t policy;
  asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
  return policy;
}

__device__ inline void sync_computing() {
  asm volatile("bar.sync 1, %0;" ::"n"(kComputing) : "memory");
}

// Stores for the other blocks, and wipes the place for the next step.
__device__ inline void publish(float* place, float* other, float value) {
  asm volatile("st.relaxed.gpu.global.f32 [%0], %1;" ::"l"(place), "f"(value) : "memory");
  asm volatile("st.relaxed.gpu.global.b32 [%0], %1;" ::"l"(other), "r"(kUnpublished) : "memory");
}

__device__ inline float4 poll4(const float* place) {
  float4 v;
  asm volatile("ld.relaxed.gpu.global.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w)
               : "l"(place)
               : "memory");
  return v;
}

__device__ inline float2 poll2(const float* place) {
  float2 v;
  asm volatile("ld.relaxed.gpu.global.v2.f32 {%0, %1}, [%2];"
               : "=f"(v.x), "=f"(v.y)
               : "l"(place)
               : "memory");
  return v;
}

__device__ inline bool is_published(float value) {
  return __float_as_uint(value) != kUnpublished;
}
__device__ inline bool is_published(float4 v) {
  return is_published(v.x) && is_published(v.y) && is_published(v.z) && is_published(v.w);
}
__device__ inline bool is_published(float2 v) {
  return is_published(v.x) && is_published(v.y);
}

// Waits for four numbers.
__device__ inline float4 wait_for4(const float* place) {
  float4 v = poll4(place);
  while (!is_published(v)) v = poll4(place);
  return v;
}

__device__ inline float gelu_tanh(float x) {
  return 0.5F * x * (1.0F + tanhf(0.7978845608028654F * (x + 0.044715F * x * x * x)));
}

__device__ inline void multiply(float (&c)[4], const std::uint32_t (&a)[4], std::uint32_t b0,
                                std::uint32_t b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
      "{%8, %9}, {%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// Two numbers as bf16, and what is left of them.
struct Halves {
  std::uint32_t upper;
  std::uint32_t lower;
};
__device__ inline Halves split(float first, float second) {
  const __nv_bfloat162 upper = __floats2bfloat162_rn(first, second);
  const float2 rounded = __bfloat1622float2(upper);
  const __nv_bfloat162 lower = __floats2bfloat162_rn(first - rounded.x, second - rounded.y);
  Halves result;
  result.upper = *reinterpret_cast<const std::uint32_t*>(&upper);
  result.lower = *reinterpret_cast<const std::uint32_t*>(&lower);
  return result;
}

__device__ inline void unpack(const uint4& bits, float (&to)[8]) {
  const std::uint32_t words[4] = {bits.x, bits.y, bits.z, bits.w};
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    to[2 * i] = __uint_as_float(words[i] << 16);
    to[2 * i + 1] = __uint_as_float(words[i] & 0xFFFF0000U);
  }
}

__device__ inline float rounded(float value) {
  return __bfloat162float(__float2bfloat16_rn(value));
}

// What of a row does not change during the step.
struct RowNow {
  int past;  // keys before the newest
  int finished;
};

// The keys of a lone row that a block takes for its head, the newest not counted.
struct Share {
  int splits;  // blocks that have a part
  int first;
  int count;
  bool mine;
};
__device__ inline Share share_of(const RowNow& row, int place) {
  Share share;
  share.splits = min(kBlocksOfHead, max(1, (row.past + kSplitKeys - 1) / kSplitKeys));
  const int each = (row.past + share.splits - 1) / share.splits;
  share.first = min(place * each, row.past);
  share.mine = place < share.splits;
  share.count = share.mine ? min(each, row.past - share.first) : 0;
  return share;
}

// Among several rows a block has the whole head of some of them, in tasks of so many keys that a
// warp takes each.
__device__ inline int tasks_of(const RowNow& row) {
  return row.finished != 0 ? 0 : (row.past + kTaskKeys - 1) / kTaskKeys;
}

// The ring of shared memory between the copying warp and the computing ones.
struct Ring {
  std::uint64_t* full;
  std::uint64_t* empty;
  std::uint8_t* slots;
  int count;
  int slot = 0;
  std::uint32_t phase = 0;

  __device__ void move_on() {
    if (++slot == count) {
      slot = 0;
      phase ^= 1U;
    }
  }
};

}  // namespace myxtts::fused
