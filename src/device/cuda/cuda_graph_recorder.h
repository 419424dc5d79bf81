// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "device/graph_recorder.h"
#include "device/role_memory.h"
#include "device/stream.h"

namespace myxtts {

// Records what is queued on `stream`; what its graphs take counts as `memory`.
std::unique_ptr<GraphRecorder> make_cuda_graph_recorder(const Stream& stream,
                                                        std::shared_ptr<RoleMemory> memory);

}  // namespace myxtts
