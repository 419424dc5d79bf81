// SPDX-License-Identifier: Apache-2.0
#include "parallel/rank_cards.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <span>
#include <vector>

#include <fmt/ranges.h>

#include "base/checksum.h"
#include "device/cuda_plugin.h"

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
  const std::vector<double> cards = team.gather({&own, 1});
  refuse_mixture(cards);
  refuse_shared_cards(cards);
}

}  // namespace myxtts
