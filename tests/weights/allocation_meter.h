// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace myxtts::test {

// Counts what operator new hands out in this process while it lives. One at a time; the test binary
// replaces operator new for it.
class AllocationMeter {
 public:
  AllocationMeter();
  AllocationMeter(const AllocationMeter&) = delete;
  AllocationMeter& operator=(const AllocationMeter&) = delete;
  ~AllocationMeter();

  std::size_t peak() const;  // the most bytes held at one time, beyond those held at the start
};

}  // namespace myxtts::test
