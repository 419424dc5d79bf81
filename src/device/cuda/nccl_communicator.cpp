// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <future>
#include <thread>

#include "base/error.h"
#include "base/log.h"
#include "device/cuda/backend.h"
#include "device/cuda/runtime.h"

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
namespace {

using namespace std::chrono_literals;

constexpr int kSum = 0;
constexpr auto kTimeToEnd = 5s;

void check_nccl(int result, const std::string& doing) {
  if (result == 0) return;
  const char* more = ncclGetLastError(nullptr);
  throw DeviceError(fmt::format(
      "NCCL failed while {}: {}{}{}. With NCCL_DEBUG=WARN in the environment it tells more.", doing,
      ncclGetErrorString(result), more == nullptr || *more == '\0' ? "" : ": ",
      more == nullptr ? "" : more));
}

int number_of(GpuNumberType type) {
  switch (type) {
    case GpuNumberType::Byte:
      return 1;
    case GpuNumberType::Fp16:
      return 6;
    case GpuNumberType::Fp32:
      return 7;
    case GpuNumberType::Bf16:
      return 9;
  }
  throw InternalError("numbers that NCCL does not know");
}

// Note [Ranks replay different graphs]
// Each rank replays the graph of its own batch's size, or none at all, so NCCL must not tie a
// recorded call to those that the other ranks recorded with it: registered buffers would do that.
void keep_graphs_apart() {
  static const int once = ::setenv("NCCL_GRAPH_REGISTER", "0", /*overwrite=*/0);
  static_cast<void>(once);
}

class NcclCommunicator final : public GpuCommunicator {
 public:
  NcclCommunicator(const std::string& id, int gpu, int rank, int size) : gpu_(gpu) {
    const DeviceScope on(gpu_);
    ncclUniqueId nccl_id{};
    MYXTTS_CHECK(id.size() == sizeof nccl_id, "a communicator's name of {} bytes", id.size());
    std::memcpy(&nccl_id, id.data(), sizeof nccl_id);
    check_nccl(ncclCommInitRank(&communicator_, size, nccl_id, rank),
               fmt::format("rank {} joined the GPUs of {} ranks", rank, size));
  }
  NcclCommunicator(const NcclCommunicator&) = delete;
  NcclCommunicator& operator=(const NcclCommunicator&) = delete;

  ~NcclCommunicator() override {
    abort();
    if (ended_.wait_for(kTimeToEnd) == std::future_status::ready) return;
    log_warning("device", "NCCL does not let go of cuda:{}.", gpu_);
  }

  void sum(const Stream& stream, const GpuArray& numbers) override {
    const DeviceScope on(gpu_);
    check_nccl(ncclAllReduce(numbers.data, numbers.data, numbers.count, number_of(numbers.type),
                             kSum, communicator_, native(stream)),
               fmt::format("{} numbers were summed over the ranks", numbers.count));
  }

  void share(const Stream& stream, std::span<const GpuArray> parts) override {
    const DeviceScope on(gpu_);
    const std::string doing = "the parts of all ranks were gathered";
    check_nccl(ncclGroupStart(), doing);
    int owner = 0;
    int result = 0;
    for (const GpuArray& part : parts) {
      const int own = owner++;
      if (part.count == 0 || result != 0) continue;
      result = ncclBroadcast(part.data, part.data, part.count, number_of(part.type), own,
                             communicator_, native(stream));
    }
    const int ended = ncclGroupEnd();
    check_nccl(result != 0 ? result : ended, doing);
  }

  void abort() noexcept override {
    if (aborted_.exchange(true)) return;
    // NCCL tells its kernels to end at once, and then waits for the graphs that hold some to go.
    try {
      std::promise<void> promise;
      ended_ = promise.get_future();
      std::thread([communicator = communicator_, gpu = gpu_, ended = std::move(promise)]() mutable {
        cudaSetDevice(gpu);
        ncclCommAbort(communicator);
        ended.set_value();
      }).detach();
    } catch (const std::exception& error) {
      log_warning("device", "NCCL could not be ended: {}", error.what());
    }
  }

 private:
  static cudaStream_t native(const Stream& stream) {
    return static_cast<cudaStream_t>(stream.native);
  }

  const int gpu_;
  ncclComm* communicator_ = nullptr;
  std::atomic<bool> aborted_ = false;
  std::future<void> ended_;  // of what abort() began
};

}  // namespace

std::string make_nccl_id() {
  keep_graphs_apart();
  ncclUniqueId id{};
  check_nccl(ncclGetUniqueId(&id), "a communicator was named");
  return {id.bytes, sizeof id.bytes};
}

std::unique_ptr<GpuCommunicator> join_with_nccl(const std::string& id, int gpu, int rank,
                                                int size) {
  keep_graphs_apart();
  return std::make_unique<NcclCommunicator>(id, gpu, rank, size);
}

}  // namespace myxtts
