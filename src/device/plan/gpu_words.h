// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "device/device_plan.h"
#include "device/machine.h"

namespace myxtts {

// Memory as a person types it for a cap and nvidia-smi shows it: MB of 1,048,576 bytes.
inline constexpr std::int64_t kMegabyte = 1 << 20;

// "1,234 MB", rounded up: a cap of the printed size is enough.
std::string megabytes(std::int64_t bytes);

// "1 GPU: 0 (NVIDIA L4, 23,034 MB)", or "no GPU": every GPU with the number a person would type.
std::string list_numbered(const std::vector<GpuInfo>& gpus);

// The same without the count.
std::string list_entries(const std::vector<GpuInfo>& gpus);

// "GPU 0 (NVIDIA L4)"; "GPU 0 (nvidia-smi's 2, NVIDIA L4)" where the two numbers differ.
std::string label(const PlannedGpu& gpu);

}  // namespace myxtts
