// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <type_traits>

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "kernels/cuda_kernels.h"
#include "kernels/ops/vectors.cuh"

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

// Products of small matrices by the warps of a block, from tiles of rows in shared memory.

namespace myxtts::device {

// Note [Fragments]
// Lane 4 g + t of a warp (g < 8, t < 4) has of a matrix of 16 x 8 sums those at rows g and g + 8,
// columns 2 t and 2 t + 1: numbers 2 r + c of row g + 8 r and column 2 t + c. Two such matrices
// side by side, rounded and in pairs, are just what a lane must have of a left factor of 16 x 16.
// So sums become a factor without leaving their registers, as long as they are multiplied from the
// left: probabilities [query, key] by values [key, width], or their transpose [key, query], which
// is computed as such, by gradients [query, width].
//
// Rows of 64 numbers lie in shared memory as eight pieces of 16 bytes, piece p of row i at place
// p ^ (i % 8): eight rows of one piece, which is what ldmatrix reads at a time, are in different
// banks.
constexpr int kRowBytes = kHeadWidth * 2;
constexpr int kPiece = 16;  // bytes
constexpr int kPieces = kRowBytes / kPiece;
constexpr int kGroup = 32;  // queries or keys that a warp works on at a time
constexpr int kGroupBytes = kGroup * kRowBytes;
constexpr int kWarps = 4;
constexpr int kThreads = kWarps * kWarp;
constexpr int kTileGroups = 2;               // of a tile that a block of threads passes over
constexpr int kTile = kTileGroups * kGroup;  // rows
constexpr int kTileBytes = kTile * kRowBytes;
constexpr int kOwned = kWarps * kGroup;  // rows that a block of threads stays with
constexpr int kOwnedBytes = kOwned * kRowBytes;

using Square = float[2][4][4];  // 32 x 32 sums: [16 rows][8 columns][as above]
using Strip = float[2][8][4];   // 32 x 64

// 16 x 16 numbers as a left factor.
struct Factor {
  std::uint32_t words[4];
};
using SquareFactor = Factor[2][2];  // 32 x 32

// Where a lane points for 16 x 16 numbers of 16 rows: four matrices of 8 x 8, in the order in which
// they are a left factor (also, transposed, a right one), or rows that are columns of a right one.
// Addresses of rows are multiples of kRowBytes, so that other columns differ in bits of their own.
struct LanePlaces {
  std::uint32_t left;
  std::uint32_t right;

  __device__ explicit LanePlaces(int lane)
      : left(lane % 16 * kRowBytes + ((lane / 16) ^ (lane % 8)) * kPiece),
        right((lane / 16 * 8 + lane % 8) * kRowBytes + ((lane / 8 % 2) ^ (lane % 8)) * kPiece) {}
};

__device__ inline std::uint32_t columns_at(std::uint32_t address, int column) {
  return address ^ static_cast<std::uint32_t>(column * 2 * kPiece);
}

// 32 rows as a left factor: in registers, or read anew each time.
struct HeldRows {
  Factor factors[2][4];

  __device__ void read(std::uint32_t rows, const LanePlaces& places) {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        load_matrices<false>(factors[i][k].words,
                             columns_at(rows + places.left, k) + i * 16 * kRowBytes);
      }
    }
  }
  __device__ Factor factor(int i, int k, const LanePlaces&) const {
    return factors[i][k];
  }
};

struct SharedRows {
  std::uint32_t rows;

  __device__ void read(std::uint32_t from, const LanePlaces&) { rows = from; }
  __device__ Factor factor(int i, int k, const LanePlaces& places) const {
    Factor factor;
    load_matrices<false>(factor.words, columns_at(rows + places.left, k) + i * 16 * kRowBytes);
    return factor;
  }
};

// own [32, 64] · metᵀ, met [32, 64]
template <typename T, typename Own>
__device__ inline void multiply(Square& product, const Own& own, std::uint32_t met,
                                const LanePlaces& places) {
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    const Factor factors[2] = {own.factor(0, k, places), own.factor(1, k, places)};
#pragma unroll
    for (int n = 0; n < 2; ++n) {
      std::uint32_t words[4];
      load_matrices<false>(words, columns_at(met + places.right, k) + n * 16 * kRowBytes);
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        multiply_add<T>(product[i][2 * n], factors[i].words, words[0], words[1], k > 0);
        multiply_add<T>(product[i][2 * n + 1], factors[i].words, words[2], words[3], k > 0);
      }
    }
  }
}

// sums [32, 64] += square [32, 32] · met [32, 64]
template <typename T>
__device__ inline void add_product(Strip& sums, const SquareFactor& square, std::uint32_t met,
                                   const LanePlaces& places) {
#pragma unroll
  for (int k = 0; k < 2; ++k) {
#pragma unroll
    for (int n = 0; n < 4; ++n) {
      std::uint32_t words[4];
      load_matrices<true>(words, columns_at(met + places.left, n) + k * 16 * kRowBytes);
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        multiply_add<T>(sums[i][2 * n], square[i][k].words, words[0], words[1]);
        multiply_add<T>(sums[i][2 * n + 1], square[i][k].words, words[2], words[3]);
      }
    }
  }
}

template <typename T>
__device__ inline std::uint32_t pair_of(float low, float high) {
  if constexpr (std::is_same_v<T, __nv_bfloat16>) {
    const __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
    return *reinterpret_cast<const std::uint32_t*>(&pair);
  } else {
    const __half2 pair = __floats2half2_rn(low, high);
    return *reinterpret_cast<const std::uint32_t*>(&pair);
  }
}

// Calls `pair(i, j, r)` for the two numbers of each row and eight columns and makes factors of what
// it gives.
template <typename Pair>
__device__ inline void make_factors(SquareFactor& factors, const Pair& pair) {
#pragma unroll
  for (int i = 0; i < 2; ++i) {
#pragma unroll
    for (int j = 0; j < 4; ++j) {
#pragma unroll
      for (int r = 0; r < 2; ++r) factors[i][j / 2].words[j % 2 * 2 + r] = pair(i, j, r);
    }
  }
}

// Calls `work(number, i, j, e)` for each of a lane's sums, of a Square or a Strip.
template <int kColumns, typename Work>
__device__ inline void for_each_number(float (&sums)[2][kColumns][4], const Work& work) {
#pragma unroll
  for (int i = 0; i < 2; ++i) {
#pragma unroll
    for (int j = 0; j < kColumns; ++j) {
#pragma unroll
      for (int e = 0; e < 4; ++e) work(sums[i][j][e], i, j, e);
    }
  }
}

// Hides what a query may not see of its own group: later keys.
template <bool kRowsAreKeys>
__device__ inline void hide_later_keys(Square& scores, int lane) {
  for_each_number(scores, [lane](float& score, int i, int j, int e) {
    const int row = 16 * i + 8 * (e / 2) + lane / 4;
    const int column = 8 * j + lane % 4 * 2 + e % 2;
    if (kRowsAreKeys ? row > column : column > row) score = -INFINITY;
  });
}

// A row in global memory of what the blocks of threads read and write, `stride` numbers apart.
template <typename T>
struct Rows {
  T* first;
  std::int64_t stride;
};

// Asks for kRows rows from `row` on, all threads together; zeros from row `end` on.
template <int kRows, typename T>
__device__ inline void ask_for_rows(std::uint32_t tile, Rows<const T> rows, int row, int end) {
  const int piece = static_cast<int>(threadIdx.x) % kPieces;
  const int first = static_cast<int>(threadIdx.x) / kPieces;
  constexpr int kStep = kThreads / kPieces;  // a multiple of 8: the place of a piece stays
  const std::uint32_t to = tile + first * kRowBytes + (piece ^ (first % 8)) * kPiece;
  const T* from = rows.first + (row + first) * rows.stride + piece * (kPiece / 2);
#pragma unroll
  for (int i = 0; i < kRows; i += kStep) {
    copy_ahead<kPiece>(to + i * kRowBytes, from + i * rows.stride, row + first + i < end);
  }
}

// Writes a warp's rows from `row` to `end`, through its own part of shared memory.
template <typename T>
__device__ inline void write_rows(const Strip& strip, char* shared, Rows<T> rows, int row,
                                  int end) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  __syncwarp();
#pragma unroll
  for (int i = 0; i < 2; ++i) {
#pragma unroll
    for (int j = 0; j < 8; ++j) {
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        const int place = 16 * i + 8 * r + lane / 4;
        const int byte = place * kRowBytes + (j ^ (place % 8)) * kPiece + lane % 4 * 4;
        *reinterpret_cast<std::uint32_t*>(shared + byte) =
            pair_of<T>(strip[i][j][2 * r], strip[i][j][2 * r + 1]);
      }
    }
  }
  __syncwarp();
  const int piece = lane % kPieces;
  const int first = lane / kPieces;
#pragma unroll
  for (int i = 0; i < kGroup; i += kWarp / kPieces) {
    const int place = first + i;
    const auto* from = shared + place * kRowBytes + (piece ^ (place % 8)) * kPiece;
    T* to = rows.first + (row + place) * rows.stride + piece * (kPiece / 2);
    if (row + place < end) *reinterpret_cast<uint4*>(to) = *reinterpret_cast<const uint4*>(from);
  }
}

}  // namespace myxtts::device
