// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "device/machine.h"
#include "diagnose/doctor/measure.h"
#include "diagnose/report/report.h"

namespace myxtts {

// A GPU of the machine under the number that a person types for it.
struct NumberedGpu {
  GpuInfo info;
  std::optional<int> number;  // nothing: CUDA_VISIBLE_DEVICES hides it
  const TestedGpu* tested;    // null: CUDA does not show it

  bool is_usable() const { return tested != nullptr && tested->fault.empty(); }
  std::string name() const { return number ? fmt::format("GPU {}", *number) : "hidden GPU"; }
};

// All of the machine by their numbers, then those that are hidden. What was found outlives them.
std::vector<NumberedGpu> numbered_gpus(const Findings& findings);

// "GPU 0, GPU 2", or "none".
std::string usable_gpus(const std::vector<NumberedGpu>& gpus);

// Adds the rows that a run on a GPU depends on: driver, CUDA plugin, each GPU, how they are
// connected.
void add_gpu_checks(const Findings& findings, Checks& checks);

// nvidia-smi's matrix: one row and one column for each GPU that can be named.
std::string topology_matrix(const GpuInventory& inventory, std::vector<NumberedGpu> gpus);

}  // namespace myxtts
