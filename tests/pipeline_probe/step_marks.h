// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include <nlohmann/json.hpp>

#include "device/role_device.h"

namespace myxtts::test {

// The ends of steps by the device's own clock, told apart by kind.
class StepMarks {
 public:
  // Behind what the stream holds so far. Waits while the host is more than two steps ahead.
  void end_of_step(const RoleDevice& device, int kind);

  // Waits for the last one.
  void finish() const;

  // Milliseconds of the steps of a kind, each from the end of the step before it, as figures. The
  // first `skipped` steps of that kind are not counted.
  nlohmann::ordered_json spread(int kind, std::size_t skipped = 0) const;

 private:
  struct Mark {
    Event event;
    int kind = 0;
  };
  std::vector<Mark> marks_;
};

}  // namespace myxtts::test
