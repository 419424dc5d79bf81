// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include <cuda_runtime_api.h>

#include "device/cuda_plugin.h"

// What we call of NCCL, whose library LibTorch brings without its header: libtorch_cuda.so is
// linked to it, so the loader finds these. The numbers are those of NCCL 2, which never change.
extern "C" {

struct ncclComm;

struct ncclUniqueId {
  char bytes[128];
};

int ncclGetUniqueId(ncclUniqueId* id);
int ncclCommInitRank(ncclComm** made, int ranks, ncclUniqueId id, int rank);
int ncclCommAbort(ncclComm* communicator);

int ncclAllReduce(const void* from, void* to, std::size_t count, int type, int operation,
                  ncclComm* communicator, cudaStream_t stream);
int ncclBroadcast(const void* from, void* to, std::size_t count, int type, int root,
                  ncclComm* communicator, cudaStream_t stream);
int ncclGroupStart();
int ncclGroupEnd();

const char* ncclGetErrorString(int result);
const char* ncclGetLastError(ncclComm* communicator);

}  // extern "C"

namespace myxtts {

std::string make_nccl_id();

// Waits until all ranks have come. Throws DeviceError.
std::unique_ptr<GpuCommunicator> join_with_nccl(const GpuRankPlace& place);

}  // namespace myxtts
