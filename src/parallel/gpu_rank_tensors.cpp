// SPDX-License-Identifier: Apache-2.0
#include "parallel/gpu_rank_tensors.h"

#include <future>
#include <thread>
#include <utility>

#include <ATen/ATen.h>

#include "base/error.h"
#include "device/cuda_plugin.h"
#include "parallel/stall_watch.h"

namespace myxtts {
namespace {

using namespace std::chrono_literals;

GpuNumberType type_of(const at::Tensor& tensor) {
  switch (tensor.scalar_type()) {
    case at::kFloat:
      return GpuNumberType::Fp32;
    case at::kHalf:
      return GpuNumberType::Fp16;
    case at::kBFloat16:
      return GpuNumberType::Bf16;
    default:
      throw InternalError("ranks sum fp32, fp16 and bf16 on GPUs");
  }
}

GpuArray numbers_of(const at::Tensor& tensor) {
  MYXTTS_CHECK(tensor.is_contiguous() && tensor.is_cuda(), "ranks sum flat tensors of GPUs");
  return {.data = tensor.mutable_data_ptr(),
          .count = static_cast<std::size_t>(tensor.numel()),
          .type = type_of(tensor)};
}

GpuArray bytes_of(const at::Tensor& tensor) {
  return {.data = tensor.mutable_data_ptr(), .count = tensor.nbytes(), .type = GpuNumberType::Byte};
}

// In a thread of its own: NCCL waits for ever where a rank that was here does not come.
std::unique_ptr<GpuCommunicator> join_gpus(RankTeam& team, const RoleDevice& device) {
  const CudaBackend& cuda = require_cuda();
  const World& world = team.world();
  const GpuRankPlace place{.id = team.broadcast(world.leads() ? cuda.make_communicator_id() : ""),
                           .gpu = device.gpu(),
                           .rank = world.rank,
                           .size = world.size};
  std::packaged_task<std::unique_ptr<GpuCommunicator>()> join(
      [&cuda, place] { return cuda.join_gpus(place); });
  auto joined = join.get_future();
  std::thread(std::move(join)).detach();
  const auto until = std::chrono::steady_clock::now() + team.settings().timeout;
  while (joined.wait_for(100ms) != std::future_status::ready) {
    if (team.has_lost_one() || std::chrono::steady_clock::now() >= until) {
      team.give_up("NCCL waits for a rank that does not come");
    }
  }
  return joined.get();
}

// Sums run on a stream of their own beside the role's, which goes on computing:
//
//   role's stream   gradients ──▶ more gradients ─────────▶ (finish) ──▶ update
//                       └─ ready ─▶                      └── done ──┘
//   side stream                  sum of a bucket ──▶ sum ──┘
class GpuRankTensors final : public RankTensors {
 public:
  GpuRankTensors(RankTeam& team, RoleDevice& device)
      : team_(team),
        device_(device),
        side_(device.make_stream()),
        ready_(device.make_event()),
        done_(device.make_event()),
        communicator_(join_gpus(team, device)),
        watch_(device, {.timeout = team.settings().timeout,
                        .rank_is_lost = [&team] { return team.has_lost_one(); },
                        .give_up = [this] { communicator_->abort(); }}) {
    watch_.start();
  }

  void begin_sum(const at::Tensor& numbers, const at::Tensor& on_wire) override {
    require_whole();
    follow_role();
    if (!on_wire.is_same(numbers)) copy_beside(on_wire, numbers);
    communicator_->sum(side_, numbers_of(on_wire));
    if (!on_wire.is_same(numbers)) copy_beside(numbers, on_wire);
  }

  void finish_sums() override {
    done_.record(side_);
    done_.hold_up(device_.stream());
  }

  void share(const std::vector<at::Tensor>& parts) override {
    require_whole();
    std::vector<GpuArray> bytes;
    for (const at::Tensor& part : parts) bytes.push_back(bytes_of(part));
    follow_role();
    communicator_->share(side_, bytes);
    finish_sums();
    watch_.mark();  // at the start and for a checkpoint no step follows that would
  }

  void step_queued() override {
    require_whole();
    watch_.mark();
  }

  void require_whole() override {
    if (watch_.gave_up()) team_.give_up("a sum over the GPUs of the ranks did not end");
  }

  bool settle() override { return watch_.settle(); }

 private:
  void follow_role() {
    ready_.record(device_.stream());
    ready_.hold_up(side_);
  }

  void copy_beside(const at::Tensor& to, const at::Tensor& from) const {
    const auto scope = device_.enter(side_);
    to.copy_(from);
  }

  RankTeam& team_;
  RoleDevice& device_;
  const Stream side_;
  Event ready_;
  Event done_;
  const std::unique_ptr<GpuCommunicator> communicator_;
  StallWatch watch_;  // last: its thread uses the communicator
};

}  // namespace

std::unique_ptr<RankTensors> make_gpu_rank_tensors(RankTeam& team, RoleDevice& device) {
  return std::make_unique<GpuRankTensors>(team, device);
}

}  // namespace myxtts
