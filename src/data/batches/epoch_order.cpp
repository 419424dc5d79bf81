// SPDX-License-Identifier: Apache-2.0
#include "data/batches/epoch_order.h"

#include <fmt/format.h>

#include "base/random.h"

namespace myxtts {
namespace {

// How many of the first `count` visits of all time go to the clip at `place` of `clips`.
std::int64_t visits_before(std::int64_t count, std::int64_t place, std::int64_t clips) {
  return (count + clips - 1 - place) / clips;
}

}  // namespace

std::int64_t VisitGroup::most_repeats() const {
  const auto count = static_cast<std::int64_t>(clips.size());
  return count == 0 ? 0 : (visits + count - 1) / count;
}

VisitGroup once_each(std::span<const ClipNumber> clips) {
  return {.clips = {clips.begin(), clips.end()}, .visits = static_cast<std::int64_t>(clips.size())};
}

void append_visits(const VisitGroup& group, std::int64_t epoch, std::vector<Visit>& visits) {
  const auto count = static_cast<std::int64_t>(group.clips.size());
  for (std::int64_t place = 0; place < count; ++place) {
    const auto repeats = visits_before((epoch + 1) * group.visits, place, count) -
                         visits_before(epoch * group.visits, place, count);
    for (std::int64_t repeat = 0; repeat < repeats; ++repeat) {
      visits.push_back(
          {group.clips[static_cast<std::size_t>(place)], static_cast<std::uint32_t>(repeat)});
    }
  }
}

std::vector<Visit> visits_of_epoch(std::span<const VisitGroup> groups, std::int64_t epoch) {
  std::vector<Visit> visits;
  std::size_t count = 0;
  for (const VisitGroup& group : groups) count += static_cast<std::size_t>(group.visits);
  visits.reserve(count);
  for (const VisitGroup& group : groups) append_visits(group, epoch, visits);
  return visits;
}

std::vector<Visit> shuffled(std::span<const Visit> visits, std::uint64_t seed, std::int64_t epoch,
                            std::int64_t attempt) {
  const RandomStream random(seed, fmt::format("data/order/{}/{}", epoch, attempt));
  std::vector<Visit> order(visits.size());
  for (std::size_t i = 0; i < visits.size(); ++i) {
    const auto j = static_cast<std::size_t>(random.integer(i, 0, static_cast<std::int64_t>(i)));
    order[i] = order[j];
    order[j] = visits[i];
  }
  return order;
}

}  // namespace myxtts
