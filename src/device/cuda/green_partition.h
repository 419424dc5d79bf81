// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda.h>

namespace myxtts {

// A part of a GPU's multiprocessors, as a CUDA green context: kernels on its streams run on those
// alone. What it opened stays open until the process ends, as its streams do.
class GreenPartition {
 public:
  // Takes at least `multiprocessors`: the hardware hands them out in groups. Throws DeviceError
  // when the GPU has fewer or cannot be split.
  GreenPartition(int gpu, int multiprocessors);

  int multiprocessors() const { return multiprocessors_; }  // that it really has
  CUstream make_stream(int priority) const;

 private:
  int multiprocessors_ = 0;
  CUgreenCtx context_ = nullptr;
};

}  // namespace myxtts
