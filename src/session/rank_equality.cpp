// SPDX-License-Identifier: Apache-2.0
#include "session/rank_equality.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <ATen/ATen.h>
#include <fmt/format.h>

#include "base/checksum.h"
#include "base/error.h"
#include "config/field.h"

namespace myxtts {
namespace {

// As much of a checksum as a double holds.
double digest(std::span<const std::byte> bytes) {
  FastChecksum sum;
  sum.add(bytes);
  return static_cast<double>(sum.value() >> 11);
}

// The first rank that differs from rank 0, and in which of the numbers.
std::optional<std::pair<std::size_t, std::size_t>> first_difference(
    RankTeam& team, const std::vector<double>& own) {
  const std::vector<double> all = team.gather(own);
  for (std::size_t i = own.size(); i < all.size(); ++i) {
    if (all[i] != all[i % own.size()]) return std::pair{i / own.size(), i % own.size()};
  }
  return std::nullopt;
}

// Files may lie elsewhere on other hosts; what is in them is compared as clips and weights.
bool is_compared(const Field& field) {
  const bool names_a_file = field.placeholder == "DIR" || field.placeholder == "FILE";
  return section_of(field.key) == "train" && !names_a_file;
}

}  // namespace

void require_equal_data(RankTeam& team, const TrainingState& start, const RunConfig& config) {
  std::vector<std::string> flags;
  std::vector<double> digests{digest(bytes_of(start.corpus))};
  for (const Field& field : all_fields()) {
    if (!is_compared(field)) continue;
    flags.push_back(field.flag);
    digests.push_back(digest(bytes_of(field.value_of(config).text)));
  }
  flags.emplace_back("the limits of clips or batches");
  digests.push_back(digest(bytes_of(start.rows + "\n" + start.batches)));
  const auto difference = first_difference(team, digests);
  if (!difference) return;
  const auto [rank, place] = *difference;
  if (place == 0) {
    throw DataError(fmt::format(
        "Rank {} has found other clips than rank 0, so they would train on different orders of "
        "them. Give every host the same recordings; skipped.jsonl says what a rank left out.",
        rank));
  }
  throw ConfigError(
      fmt::format("Rank {} and rank 0 differ in {}. Start all ranks with the same flags and the "
                  "same --config.",
                  rank, flags[place - 1]));
}

// By the sums of their bits, which are made where the weights are.
void require_equal_weights(RankTeam& team, RoleDevice& device, const NamedTensors& weights) {
  const auto scope = device.enter(device.stream());
  std::vector<at::Tensor> sums;
  for (const auto& [name, tensor] : weights) {
    sums.push_back(tensor.view(at::kInt).sum(at::kLong));
  }
  const at::Tensor all = at::stack(sums).cpu();
  const auto* const bytes = static_cast<const std::byte*>(all.const_data_ptr());
  const auto difference = first_difference(team, {digest({bytes, all.nbytes()})});
  if (!difference) return;
  throw DeviceError(fmt::format(
      "The weights of rank {} are no longer those of rank 0, so the memory or a core of one of "
      "the hosts is at fault. The last checkpoint is good: continue with --resume on others.",
      difference->first));
}

}  // namespace myxtts
