// SPDX-License-Identifier: Apache-2.0
#include "session/memory_watch.h"

namespace myxtts {

MemoryWatch::MemoryWatch(const RunDevices& devices, std::int64_t first_step)
    : first_step_(first_step),
      data_{.device = *devices.data, .growth = GrowthWatch("the feature stage")},
      model_{.device = *devices.model, .growth = GrowthWatch("training")} {}

void MemoryWatch::look(std::int64_t step) {
  data_.look(step - first_step_ - 1);
  model_.look(step - first_step_ - 1);
}

void MemoryWatch::Watched::look(std::int64_t step) {
  if (device.gpu() < 0) return;
  const auto grown = growth.observe(step, device.memory().read().reserved);
  if (grown) warnings.warn("memory growth", *grown);
}

}  // namespace myxtts
