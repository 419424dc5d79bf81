// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include "config/run_config.h"
#include "device/machine.h"
#include "device/plan/device_plan.h"
#include "device/plan/gpu_choice.h"
#include "device/plan/plan_devices.h"

namespace myxtts {

// What two GPUs of one size start with, as users of the original program know it.
struct PairDefaults {
  std::int64_t gigabytes;    // on the card's box
  std::int64_t most_batch;   // clips
  std::int64_t least_batch;  // below it gradients of several batches are summed
  std::int64_t data_cap;     // MB
  std::int64_t model_cap;    // MB
  std::int64_t ring_slots;
};

inline constexpr std::array<PairDefaults, 3> kPairDefaults{{
    {12, 8, 8, 4096, 8192, 6},
    {16, 12, 12, 6144, 10240, 4},
    {24, 24, 16, 8192, 16384, 3},
}};

// The row for a card of so much memory; null between and beyond the rows. Cards of one size on the
// box differ by up to a tenth.
inline const PairDefaults* pair_defaults(std::int64_t memory_bytes) {
  for (const PairDefaults& row : kPairDefaults) {
    const std::int64_t nominal = row.gigabytes * 1024 * kMegabyte;
    if (memory_bytes * 10 >= nominal * 9 && memory_bytes * 10 <= nominal * 11) return &row;
  }
  return nullptr;
}

// Elsewhere: batches from which larger ones no longer pay, on a GPU and on the CPU.
inline constexpr std::int64_t kMostGpuBatch = 32;
inline constexpr std::int64_t kMostCpuBatch = 8;
inline constexpr std::int64_t kRingSlots = 3;

// What a process takes of a card besides its tensors: the context and the libraries' kernels.
inline constexpr std::int64_t kContextBytes = 700 * kMegabyte;

// What must be free for a need by estimate, which may be too low by so much
// (docs/results/memory.md has estimates beside measurements).
inline constexpr std::int64_t with_margin(std::int64_t bytes) {
  return bytes + bytes / 16;
}

// The second half of a plan: arithmetic, batch, slots of the ring and memory caps, for roles that
// have their places. What the person gave stands; what they left open is decided and said. Throws
// ConfigError for a cap below what the run needs by estimate, DeviceError for one above what the
// card has.
void share_memory(const RunConfig& config, const Machine& machine, const MemoryModel& memory,
                  DevicePlan& plan);

}  // namespace myxtts
