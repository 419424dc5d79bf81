// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "device/stream.h"

namespace myxtts {

enum class GpuNumberType { Fp32, Fp16, Bf16, Byte };

// Numbers in the memory of a GPU, one after another.
struct GpuArray {
  void* data = nullptr;
  std::size_t count = 0;
  GpuNumberType type = GpuNumberType::Byte;
};

// The GPUs of several ranks, joined: NCCL's communicator. Each rank has one object for its GPU, and
// queues the same calls of the same sizes in the same order, on streams of that GPU.
//
// Calls may stand in a graph; graphs that hold some must be gone before the object is. One thread;
// abort() is any other's.
class GpuCommunicator {
 public:
  virtual ~GpuCommunicator() = default;

  // The sum over all ranks, in place, in the arithmetic of the numbers.
  virtual void sum(const Stream& stream, const GpuArray& numbers) = 0;

  // `parts[i]` of rank i for all ranks; further ranks have nothing to give.
  virtual void share(const Stream& stream, std::span<const GpuArray> parts) = 0;

  // Ends what waits on the GPU for other ranks, with any result. Nothing may be queued afterwards.
  virtual void abort() noexcept = 0;
};

// One rank's place in a communicator.
struct GpuRankPlace {
  std::string id = {};  // of the communicator: the same on all ranks
  int gpu = 0;          // LibTorch's number
  int rank = 0;
  int size = 1;
};

}  // namespace myxtts
