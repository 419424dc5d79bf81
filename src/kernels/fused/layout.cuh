// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "kernels/code_sampling_cuda.cuh"
#include "kernels/decode_fused.cuh"

namespace myxtts::fused {

// The threads of a block and its shared memory.

inline constexpr int kWarps = 8;  // that compute; one more copies
inline constexpr int kComputing = kWarps * 32;
inline constexpr int kThreads = kComputing + 32;
// Copies a block has under way at once: enough to keep the memory busy, and no more, for what
// blocks tell each other waits in the same queues.
inline constexpr int kUnderWay = 2;
inline constexpr float kNormEpsilon = 1e-5F;
inline constexpr std::uint32_t kSilence = 0xFFFFFFFFU;  // a NaN that no computation gives
inline constexpr int kLanesOfKey = 8;                   // each with 8 numbers of the head
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

}  // namespace myxtts::fused
