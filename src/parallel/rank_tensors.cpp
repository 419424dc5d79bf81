// SPDX-License-Identifier: Apache-2.0
#include "parallel/rank_tensors.h"

#include <unistd.h>
#include <algorithm>
#include <array>
#include <fstream>
#include <functional>
#include <future>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include <ATen/ATen.h>
#include <fmt/ranges.h>

#include "base/checksum.h"
#include "base/error.h"
#include "device/cuda_plugin.h"
#include "parallel/stall_watch.h"

namespace myxtts {
namespace {

// Containers of different hosts may have one name, but no two systems were started as one.
std::string this_host() {
  std::array<char, 256> name{};
  ::gethostname(name.data(), name.size() - 1);
  std::string started;
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::getline(file, started);
  return fmt::format("{} {}", name.data(), started);
}

// Different for different cards, as far as a double's digits go; 0 for the CPU.
double number_of(const std::string& card) {
  if (card.empty()) return 0;
  FastChecksum sum;
  sum.add(std::as_bytes(std::span(card)));
  return static_cast<double>((sum.value() >> 12) + 1);
}

std::string listed(const std::vector<std::size_t>& ranks) {
  return fmt::format("{} {}", ranks.size() == 1 ? "rank" : "ranks", fmt::join(ranks, ", "));
}

void refuse_mixture(const std::vector<double>& cards) {
  std::array<std::vector<std::size_t>, 2> ranks;  // on the CPU, on GPUs
  for (std::size_t rank = 0; rank < cards.size(); ++rank) {
    ranks[cards[rank] > 0 ? 1 : 0].push_back(rank);
  }
  if (ranks[0].empty() || ranks[1].empty()) return;
  throw DeviceError(fmt::format(
      "Ranks train either all on GPUs or all on the CPU, but {} would train on the CPU and {} on "
      "GPUs; give all of them --device cpu, or see why those have no GPU: myxtts doctor.",
      listed(ranks[0]), listed(ranks[1])));
}

void refuse_shared_cards(const std::vector<double>& cards) {
  for (std::size_t rank = 0; rank < cards.size(); ++rank) {
    const auto first = std::ranges::find(cards, cards[rank]) - cards.begin();
    if (cards[rank] == 0 || first == static_cast<std::ptrdiff_t>(rank)) continue;
    throw DeviceError(fmt::format(
        "Ranks {} and {} are on one GPU, and NCCL joins different ones; start a rank for each GPU, "
        "as in myxtts launch --gpus all -- train, or train on the CPU with --device cpu.",
        first, rank));
  }
}

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
  const std::string id = team.broadcast(world.leads() ? cuda.make_communicator_id() : "");
  std::packaged_task<std::unique_ptr<GpuCommunicator>()> join(
      [&cuda, id, gpu = device.gpu(), rank = world.rank, size = world.size] {
        return cuda.join_gpus(id, gpu, rank, size);
      });
  auto joined = join.get_future();
  std::thread(std::move(join)).detach();
  const auto until = std::chrono::steady_clock::now() + team.timeout();
  while (joined.wait_for(100ms) != std::future_status::ready) {
    if (team.has_lost_rank() || std::chrono::steady_clock::now() >= until) {
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
        watch_(
            device, [&team] { return team.has_lost_rank(); }, [this] { communicator_->abort(); },
            team.timeout()) {
    watch_.start();
  }

  void begin_all_reduce(const at::Tensor& numbers, const at::Tensor& on_wire) override {
    require_whole();
    follow_role();
    if (!on_wire.is_same(numbers)) copy_on_side(on_wire, numbers);
    communicator_->sum(side_, numbers_of(on_wire));
    if (!on_wire.is_same(numbers)) copy_on_side(numbers, on_wire);
  }

  void finish_all_reduces() override {
    done_.record(side_);
    done_.hold_up(device_.stream());
  }

  void all_gather(const std::vector<at::Tensor>& parts) override {
    require_whole();
    std::vector<GpuArray> bytes;
    for (const at::Tensor& part : parts) bytes.push_back(bytes_of(part));
    follow_role();
    communicator_->share(side_, bytes);
    finish_all_reduces();
    watch_.mark();  // at the start and for a checkpoint no step follows that would
  }

  void step_queued() override {
    require_whole();
    watch_.mark();
  }

  void require_whole() override {
    if (watch_.gave_up()) team_.give_up("a sum over the GPUs of the ranks did not end");
  }

  bool wait_for_queued() override { return watch_.wait_for_marks(); }

 private:
  void follow_role() {
    ready_.record(device_.stream());
    ready_.hold_up(side_);
  }

  void copy_on_side(const at::Tensor& to, const at::Tensor& from) const {
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

// On the CPU, where Gloo's threads sum while this one goes on.
class HostRankTensors final : public RankTensors {
 public:
  explicit HostRankTensors(RankTeam& team) : team_(team) {}

  void begin_all_reduce(const at::Tensor& numbers, const at::Tensor& on_wire) override {
    if (!on_wire.is_same(numbers)) on_wire.copy_(numbers);
    under_way_.emplace_back([numbers, on_wire, wait = team_.begin_all_reduce(on_wire)] {
      wait();
      if (!on_wire.is_same(numbers)) numbers.copy_(on_wire);
    });
  }

  void finish_all_reduces() override {
    for (const auto& finish : under_way_) finish();
    under_way_.clear();
  }

  void all_gather(const std::vector<at::Tensor>& parts) override {
    int owner = 0;
    for (const at::Tensor& part : parts) {
      const int own = owner++;
      if (part.numel() > 0) team_.broadcast(part.view(at::kByte), own);
    }
  }

 private:
  RankTeam& team_;
  std::vector<std::function<void()>> under_way_;  // what ends each sum
};

}  // namespace

std::string card_of(const RoleDevice& device) {
  if (device.gpu() < 0) return {};
  for (const CudaDevice& card : require_cuda().devices()) {
    if (card.index == device.gpu()) return fmt::format("{} {}", this_host(), card.pci_bus_id);
  }
  throw InternalError(fmt::format("{} is not there", device.name()));
}

void require_own_cards(RankTeam& team, const std::string& card) {
  const double own = number_of(card);
  const std::vector<double> cards = team.all_gather({&own, 1});
  refuse_mixture(cards);
  refuse_shared_cards(cards);
}

std::unique_ptr<RankTensors> make_rank_tensors(RankTeam& team, RoleDevice& device) {
  require_own_cards(team, card_of(device));
  if (device.gpu() < 0) return std::make_unique<HostRankTensors>(team);
  return std::make_unique<GpuRankTensors>(team, device);
}

}  // namespace myxtts
