// SPDX-License-Identifier: Apache-2.0
#include "session/ranks/rank_agreement.h"

#include <algorithm>
#include <array>
#include <chrono>
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
  const std::vector<double> all = team.all_gather(own);
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

std::chrono::milliseconds rank_timeout(const RunConfig& config) {
  const std::chrono::duration<double> timeout(config.parallel.rank_timeout);
  return std::chrono::duration_cast<std::chrono::milliseconds>(timeout);
}

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
  if (team.world().size == 1) return;
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

namespace {

constexpr std::size_t kNumbers = 6;

}  // namespace

RankNote agreement_of(std::span<const double> notes) {
  RankNote agreed;
  agreed.late = notes[1] > 0;
  agreed.save = notes[2] > 0;
  for (; !notes.empty(); notes = notes.subspan(kNumbers)) {
    agreed.stop = agreed.stop || notes[0] > 0;
    agreed.audio_seconds += notes[3];
    agreed.times.push_back({.data = notes[4], .step = notes[5]});
  }
  return agreed;
}

RankNote agree(RankTeam& team, const RankNote& note) {
  const auto number = [](bool flag) { return flag ? 1.0 : 0.0; };
  const std::array<double, kNumbers> own{number(note.stop),     number(note.late),
                                         number(note.save),     note.audio_seconds,
                                         note.times.at(0).data, note.times.at(0).step};
  return agreement_of(team.all_gather(own));
}

std::string StragglerWatch::add(std::span<const RankTimes> times) {
  sums_.resize(times.size());
  for (std::size_t rank = 0; rank < times.size(); ++rank) {
    sums_[rank].data += times[rank].data;
    sums_[rank].step += times[rank].step;
  }
  if (++steps_ < kSteps) return {};
  std::vector<double> busy;
  for (const RankTimes& sum : sums_) busy.push_back(sum.busy());
  const auto slowest = std::ranges::max_element(busy) - busy.begin();
  const double most = busy[static_cast<std::size_t>(slowest)];
  const auto middle_place = busy.begin() + (std::ssize(busy) - 1) / 2;
  std::ranges::nth_element(busy, middle_place);
  const double middle = *middle_place;
  const RankTimes sum = sums_[static_cast<std::size_t>(slowest)];
  const double steps = static_cast<double>(steps_);
  sums_.assign(sums_.size(), {});
  steps_ = 0;
  if (sums_.size() < 2 || most <= middle * (1 + kTolerated)) return {};
  return fmt::format(
      "Rank {} holds the others up: in the last {} batches it took {:.0f} ms for each ({:.0f} ms "
      "waiting for data, {:.0f} ms for its step), the middle rank {:.0f} ms.",
      slowest, kSteps, most / steps * 1e3, sum.data / steps * 1e3, sum.step / steps * 1e3,
      middle / steps * 1e3);
}

}  // namespace myxtts
