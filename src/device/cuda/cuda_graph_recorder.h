// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/cuda/MemPool.h>

#include <memory>

#include "device/role_device.h"
#include "device/stream.h"

namespace myxtts {

// Records what is queued on `stream`, with memory from `pool`.
std::unique_ptr<GraphRecorder> make_cuda_graph_recorder(const Stream& stream,
                                                        at::cuda::MempoolId_t pool);

}  // namespace myxtts
