// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "device/role_memory.h"

namespace myxtts {

// Watches what both roles hold of their devices while a run trains, and warns once of each that
// grows although it should be steady. One thread; the memories outlive it.
class MemoryWatch {
 public:
  MemoryWatch(const RoleMemory& data, const RoleMemory& model);

  // After every step of this process. Asks nothing of a device.
  void after_step();

 private:
  struct Watched {
    const RoleMemory& memory;
    GrowthWatch growth;
    bool said = false;
  };
  std::vector<Watched> watched_;
  std::int64_t step_ = 0;
};

}  // namespace myxtts
