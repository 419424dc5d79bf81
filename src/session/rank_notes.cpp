// SPDX-License-Identifier: Apache-2.0
#include "session/rank_notes.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace myxtts {
namespace {

constexpr std::size_t kNumbers = 6;

}  // namespace

RankAgreement agreement_of(std::span<const double> notes) {
  RankAgreement agreed;
  agreed.late = notes[1] > 0;
  agreed.save = notes[2] > 0;
  for (; !notes.empty(); notes = notes.subspan(kNumbers)) {
    agreed.stop = agreed.stop || notes[0] > 0;
    agreed.audio_seconds += notes[3];
    agreed.times.push_back({.data = notes[4], .step = notes[5]});
  }
  return agreed;
}

RankAgreement agree(RankTeam& team, const RankNote& note) {
  const auto number = [](bool flag) { return flag ? 1.0 : 0.0; };
  const std::array<double, kNumbers> own{number(note.stop),  number(note.late), number(note.save),
                                         note.audio_seconds, note.times.data,   note.times.step};
  return agreement_of(team.gather(own));
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
