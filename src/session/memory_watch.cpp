// SPDX-License-Identifier: Apache-2.0
#include "session/memory_watch.h"

#include "base/log.h"

namespace myxtts {

MemoryWatch::MemoryWatch(const RunDevices& devices, std::int64_t first_step)
    : first_step_(first_step),
      data_{*devices.data, GrowthWatch("the feature stage")},
      model_{*devices.model, GrowthWatch("training")} {}

void MemoryWatch::look(std::int64_t step) {
  data_.look(step - first_step_ - 1);
  model_.look(step - first_step_ - 1);
}

void MemoryWatch::Watched::look(std::int64_t step) {
  if (device.gpu() < 0) return;
  const auto grown = growth.observe(step, device.memory().read().reserved);
  if (grown) log_warning("train", "{}", *grown);
}

}  // namespace myxtts
