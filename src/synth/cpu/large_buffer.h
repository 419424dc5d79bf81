// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace myxtts {

enum class Pages {
  Large,    // 2 MiB where the system has them: fewer misses when everything is read in turn
  OnDemand  // small ones, taken when they are first written
};

// Many floats, zero at first, aligned for every vector unit. Throws DeviceError when there is no
// memory for them.
class LargeBuffer {
 public:
  LargeBuffer(std::size_t count, Pages pages);
  LargeBuffer(const LargeBuffer&) = delete;
  LargeBuffer& operator=(const LargeBuffer&) = delete;
  ~LargeBuffer();

  float* data() const { return data_; }

 private:
  float* data_ = nullptr;
  void* mapped_ = nullptr;
  std::size_t mapped_bytes_ = 0;
};

}  // namespace myxtts
