// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "config/run_config.h"

namespace myxtts {

// How a batch gets from the data device to the model device.
enum class BatchPath {
  P2p,          // from card to card
  PinnedHost,   // through page-locked host memory
  SameDevice,   // one card has both roles
  PlainMemory,  // both roles are on the CPU
};

enum class StreamPriority { Low, Normal, High };

// A GPU by all its numbers. They differ where CUDA_VISIBLE_DEVICES is set or another card than the
// first is chosen.
struct PlannedGpu {
  int physical = 0;  // nvidia-smi's
  int listed = 0;    // what the person types: the place in CUDA_VISIBLE_DEVICES where that is set
  int logical = 0;   // LibTorch's cuda:N once the visible devices are set
  std::string name = {};
  std::string uuid = {};
  std::string pci_bus_id = {};
  std::int64_t memory_bytes = 0;
  std::int64_t free_bytes = 0;

  friend bool operator==(const PlannedGpu&, const PlannedGpu&) = default;
};

// What one role works on and how much of it it may use.
struct RolePlan {
  std::optional<PlannedGpu> gpu = {};                 // nothing: the CPU
  std::optional<std::int64_t> memory_cap_bytes = {};  // nothing: no cap
  std::optional<std::int64_t> multiprocessors = {};   // that a split leaves it; nothing: all
  StreamPriority priority = StreamPriority::Normal;   // of its stream on a GPU
  int threads = 1;                                    // of LibTorch on the CPU
  std::int64_t estimated_bytes = 0;                   // that it will need, by the memory model

  friend bool operator==(const RolePlan&, const RolePlan&) = default;
};

// Which device does what, made once and before any CUDA context exists. Only the GPUs of its two
// roles are ever opened.
struct DevicePlan {
  Mode mode = Mode::Cpu;  // Dual, Single, Split or Cpu
  RolePlan data = {};
  RolePlan model = {};
  BatchPath path = BatchPath::PlainMemory;
  Precision precision = Precision::Fp32;  // never Auto
  std::int64_t batch_size = 1;            // clips; with a token budget as many as it usually holds
  std::optional<std::int64_t> batch_tokens = {};  // a budget in place of batch_size
  std::int64_t grad_accum = 1;                    // batches in one step
  std::int64_t ring_slots = 3;                    // on the model device
  MemorySavers savers = {};                       // of the step
  std::vector<std::string> notes = {};     // what was decided for the person, a sentence each
  std::vector<std::string> warnings = {};  // what will work, but badly

  // The UUIDs of the GPUs in use, in the order of their logical numbers; empty on the CPU.
  std::vector<std::string> visible_uuids() const;

  friend bool operator==(const DevicePlan&, const DevicePlan&) = default;
};

// "dual", "single", "split" or "cpu".
std::string name_of(Mode mode);
// "peer access", "pinned host memory", "same device", "plain memory".
std::string name_of(BatchPath path);
std::string name_of(Precision precision);
std::string name_of(Moments moments);  // "fp32", "bf16" or "8bit"
std::string name_of(StreamPriority priority);

// The plan as a small table for people, notes and warnings below it.
std::string describe(const DevicePlan& plan);

// The plan as it stands in plan.json.
std::string to_json(const DevicePlan& plan);

// Puts plan.json into a run directory, whole or not at all. Throws DataError.
void write_plan(const DevicePlan& plan, const std::filesystem::path& run_directory);

}  // namespace myxtts
