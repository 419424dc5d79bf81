// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace myxtts {

// Where a device does one piece of work after another. A small value: streams are made by a
// RoleDevice and live until the end of the process, as LibTorch's allocator remembers them.
//
// The CPU has one stream, and work on it is done when the call that asked for it returns.
struct Stream {
  int gpu = -1;            // LibTorch's number; -1: the CPU
  std::int64_t id = 0;     // LibTorch's, as in c10::Stream
  void* native = nullptr;  // the cudaStream_t

  bool on_cpu() const { return gpu < 0; }
  friend bool operator==(const Stream&, const Stream&) = default;
};

}  // namespace myxtts
