// SPDX-License-Identifier: Apache-2.0
#include "device/gpu_meter.h"

#include <array>

#include "device/nvml.h"

namespace myxtts {

struct GpuMeter::State {
  explicit State(const std::string& library_name) : library(library_name) {}
  ~State() {
    if (open && library.shutdown != nullptr) library.shutdown();
  }

  void find(const std::string& uuid) {
    if (!library.fault().empty() || library.init() != nvml::kSuccess) return;
    open = true;
    unsigned count = 0;
    if (library.device_count(&count) != nvml::kSuccess || library.uuid == nullptr) return;
    for (unsigned index = 0; index < count && device == nullptr; ++index) {
      nvml::Device candidate = nullptr;
      std::array<char, 96> text{};
      const auto size = static_cast<unsigned>(text.size());
      if (library.device_by_index(index, &candidate) == nvml::kSuccess &&
          library.uuid(candidate, text.data(), size) == nvml::kSuccess && uuid == text.data()) {
        device = candidate;
      }
    }
  }

  Nvml library;
  bool open = false;
  nvml::Device device = nullptr;  // null: not found
};

GpuMeter::GpuMeter(const std::string& uuid, const std::string& library_name)
    : state_(std::make_unique<State>(nvml_library_name(library_name))) {
  state_->find(uuid);
}

GpuMeter::~GpuMeter() = default;

std::optional<GpuUse> GpuMeter::read() const {
  const Nvml& library = state_->library;
  if (state_->device == nullptr || library.memory == nullptr || library.utilisation == nullptr) {
    return std::nullopt;
  }
  nvml::Memory memory{};
  nvml::Utilisation load{};
  if (library.memory(state_->device, &memory) != nvml::kSuccess ||
      library.utilisation(state_->device, &load) != nvml::kSuccess) {
    return std::nullopt;
  }
  unsigned power = 0;  // milliwatts
  unsigned limit = 0;
  if (library.power != nullptr) library.power(state_->device, &power);
  if (library.power_limit != nullptr) library.power_limit(state_->device, &limit);
  return GpuUse{.percent = static_cast<int>(load.gpu),
                .used_bytes = static_cast<std::int64_t>(memory.used),
                .total_bytes = static_cast<std::int64_t>(memory.total),
                .watts = power / 1000.0,
                .watts_limit = limit / 1000.0};
}

}  // namespace myxtts
