// SPDX-License-Identifier: Apache-2.0
#include "device/plan/gpu_words.h"

#include <fmt/format.h>

#include "base/human.h"

namespace myxtts {

std::string megabytes(std::int64_t bytes) {
  return human_count((bytes + kMegabyte - 1) / kMegabyte) + " MB";
}

std::string list_numbered(const std::vector<GpuInfo>& gpus) {
  if (gpus.empty()) return "no GPU";
  return fmt::format("{} {}: {}", gpus.size(), gpus.size() == 1 ? "GPU" : "GPUs",
                     list_entries(gpus));
}

std::string list_entries(const std::vector<GpuInfo>& gpus) {
  std::string text;
  for (std::size_t number = 0; number < gpus.size(); ++number) {
    const GpuInfo& gpu = gpus[number];
    text += fmt::format("{}{} ({}", number > 0 ? ", " : "", number,
                        gpu.name.empty() ? "without a name" : gpu.name);
    if (gpu.memory_total_bytes) text += ", " + megabytes(*gpu.memory_total_bytes);
    if (gpu.index != static_cast<int>(number)) {
      text += fmt::format(", nvidia-smi's {}", gpu.index);
    }
    text += ")";
  }
  return text;
}

std::string label(const PlannedGpu& gpu) {
  if (gpu.listed == gpu.physical) return fmt::format("GPU {} ({})", gpu.listed, gpu.name);
  return fmt::format("GPU {} (nvidia-smi's {}, {})", gpu.listed, gpu.physical, gpu.name);
}

}  // namespace myxtts
