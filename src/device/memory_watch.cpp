// SPDX-License-Identifier: Apache-2.0
#include "device/memory_watch.h"

#include "base/log.h"

namespace myxtts {

MemoryWatch::MemoryWatch(const RoleMemory& data, const RoleMemory& model) {
  watched_.push_back({.memory = data, .growth = GrowthWatch("the feature stage (data role)")});
  watched_.push_back({.memory = model, .growth = GrowthWatch("the training step (model role)")});
}

void MemoryWatch::after_step() {
  for (Watched& watched : watched_) {
    if (watched.said) continue;
    const auto warning = watched.growth.observe(step_, watched.memory.read().reserved);
    if (!warning) continue;
    watched.said = true;
    log_warning("device", "{}", *warning);
  }
  ++step_;
}

}  // namespace myxtts
