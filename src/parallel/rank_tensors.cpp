// SPDX-License-Identifier: Apache-2.0
#include "parallel/rank_tensors.h"

#include <ATen/ATen.h>

#include "parallel/gpu_rank_tensors.h"
#include "parallel/rank_cards.h"

namespace myxtts {
namespace {

// On the CPU, where Gloo's threads sum while this one goes on.
class HostRankTensors final : public RankTensors {
 public:
  explicit HostRankTensors(RankTeam& team) : team_(team) {}

  void begin_sum(const at::Tensor& numbers, const at::Tensor& on_wire) override {
    if (!on_wire.is_same(numbers)) on_wire.copy_(numbers);
    under_way_.push_back({numbers, on_wire, team_.begin_sum(on_wire)});
  }

  void finish_sums() override {
    for (Sum& sum : under_way_) {
      sum.work.wait();
      if (!sum.on_wire.is_same(sum.numbers)) sum.numbers.copy_(sum.on_wire);
    }
    under_way_.clear();
  }

  void share(const std::vector<at::Tensor>& parts) override {
    int owner = 0;
    for (const at::Tensor& part : parts) {
      const int own = owner++;
      if (part.numel() > 0) team_.broadcast(part.view(at::kByte), own);
    }
  }

 private:
  struct Sum {
    at::Tensor numbers;
    at::Tensor on_wire;
    RankTeam::Sum work;
  };

  RankTeam& team_;
  std::vector<Sum> under_way_;
};

}  // namespace

std::unique_ptr<RankTensors> make_rank_tensors(RankTeam& team, RoleDevice& device) {
  require_own_cards(team, card_of(device));
  if (device.gpu() < 0) return std::make_unique<HostRankTensors>(team);
  return make_gpu_rank_tensors(team, device);
}

}  // namespace myxtts
