// SPDX-License-Identifier: Apache-2.0
#include "data/batches/epoch_order.h"

#include <fmt/format.h>

#include "base/random.h"

namespace myxtts {

std::vector<Visit> visits_of_epoch(std::span<const VisitGroup> groups, std::int64_t epoch) {
  std::vector<Visit> visits;
  std::size_t count = 0;
  for (const VisitGroup& group : groups) count += static_cast<std::size_t>(group.visits);
  visits.reserve(count);
  for (const VisitGroup& group : groups) append_visits(group, epoch, visits);
  return visits;
}

std::vector<Visit> shuffled(std::span<const Visit> visits, const OrderDraw& draw) {
  const RandomStream random(draw.seed, fmt::format("data/order/{}/{}", draw.epoch, draw.attempt));
  std::vector<Visit> order(visits.size());
  for (std::size_t i = 0; i < visits.size(); ++i) {
    const auto j = static_cast<std::size_t>(random.integer(i, 0, static_cast<std::int64_t>(i)));
    order[i] = order[j];
    order[j] = visits[i];
  }
  return order;
}

}  // namespace myxtts
