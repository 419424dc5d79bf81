// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "device/role_memory.h"
#include "session/hourly_warnings.h"
#include "session/run_devices.h"

namespace myxtts {

// Says when the memory of a role on a GPU grows although it should be steady. On the CPU memory
// comes and goes with each batch, so nothing is watched there. At most once an hour for each role.
// The devices outlive it.
class MemoryWatch {
 public:
  MemoryWatch(const RunDevices& devices, std::int64_t first_step);

  // After every step.
  void look(std::int64_t step);

 private:
  struct Watched {
    const RoleDevice& device;
    GrowthWatch growth;
    HourlyWarnings warnings = HourlyWarnings();

    void look(std::int64_t step);
  };

  const std::int64_t first_step_;
  Watched data_;
  Watched model_;
};

}  // namespace myxtts
