// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>
#include <type_traits>

// Instructions that CUDA C++ has no words for. Older GPUs than sm_80 lack some; no kernel that
// needs them is started there.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
#define MYXTTS_SM80(...) __trap()
#else
#define MYXTTS_SM80(...) asm volatile(__VA_ARGS__)
#endif

namespace myxtts::device {

__device__ inline std::uint32_t shared_address(const void* memory) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(memory));
}

// Asks for bytes of global memory; zeros where they are not `there`.
template <int kBytes>
__device__ inline void copy_ahead(std::uint32_t to, const void* from, bool there) {
  if constexpr (kBytes == 16) {
    MYXTTS_SM80("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from),
                "r"(there ? kBytes : 0));
  } else {
    MYXTTS_SM80("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(to), "l"(from), "n"(kBytes),
                "r"(there ? kBytes : 0));
  }
}

// Waits until what this thread asked for is there.
__device__ inline void finish_copies() {
  MYXTTS_SM80("cp.async.wait_all;" ::: "memory");
}

// Four matrices of 8 x 8 numbers whose rows the lanes point at.
template <bool kTransposed>
__device__ inline void load_matrices(std::uint32_t (&words)[4], std::uint32_t row) {
  if constexpr (kTransposed) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
                 : "r"(row));
  } else {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
                 : "r"(row));
  }
}

// sums [16, 8] = a [16, 16] · b [16, 8], added to them unless they are new.
template <typename T>
__device__ inline void multiply_add(float (&sums)[4], const std::uint32_t (&a)[4], std::uint32_t b0,
                                    std::uint32_t b1, bool adds = true) {
  [[maybe_unused]] const float before[4] = {adds ? sums[0] : 0, adds ? sums[1] : 0,
                                            adds ? sums[2] : 0, adds ? sums[3] : 0};
  if constexpr (std::is_same_v<T, __nv_bfloat16>) {
    MYXTTS_SM80(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %11, %12, %13};"
        : "=f"(sums[0]), "=f"(sums[1]), "=f"(sums[2]), "=f"(sums[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1), "f"(before[0]),
          "f"(before[1]), "f"(before[2]), "f"(before[3]));
  } else {
    MYXTTS_SM80(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %11, %12, %13};"
        : "=f"(sums[0]), "=f"(sums[1]), "=f"(sums[2]), "=f"(sums[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1), "f"(before[0]),
          "f"(before[1]), "f"(before[2]), "f"(before[3]));
  }
}

__device__ inline float power_of_two(float exponent) {
  float power;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(exponent));
  return power;
}

// Bytes of (low, high), each chosen by four bits: its number, and whether its sign stands for all
// of its bits.
__device__ inline std::uint32_t choose_bytes(std::uint32_t low, std::uint32_t high,
                                             std::uint32_t choice) {
  std::uint32_t bytes;
  asm("prmt.b32 %0, %1, %2, %3;" : "=r"(bytes) : "r"(low), "r"(high), "r"(choice));
  return bytes;
}

}  // namespace myxtts::device

#undef MYXTTS_SM80
