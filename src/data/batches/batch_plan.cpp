// SPDX-License-Identifier: Apache-2.0
#include "data/batches/batch_plan.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "base/error.h"
#include "data/batches/epoch_plan.h"
#include "model/gpt_rows.h"

namespace myxtts {
namespace {

constexpr std::int64_t kMultiple = 8;     // what matrix units like
constexpr std::int64_t kMostBins = 2048;  // the search takes time with the square of it

std::int64_t rounded_up(std::int64_t value, std::int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

// How many batches have a total of tokens up to each edge.
struct Histogram {
  std::vector<std::int64_t> edges;   // ascending; the last one is the bound
  std::vector<std::int64_t> counts;  // of batches up to the edge, running
};

Histogram count_totals(std::span<const RowSizes> seen, std::int64_t bound) {
  const std::int64_t width = rounded_up(std::max<std::int64_t>(bound / kMostBins, 1), kMultiple);
  std::vector<std::int64_t> bins(static_cast<std::size_t>(rounded_up(bound, width) / width) + 1, 0);
  for (const RowSizes& batch : seen) {
    MYXTTS_CHECK(batch.tokens <= bound, "a batch of {} tokens is beyond its bound {}", batch.tokens,
                 bound);
    ++bins[static_cast<std::size_t>(rounded_up(batch.tokens, width) / width)];
  }
  Histogram histogram;
  std::int64_t running = 0;
  for (std::size_t bin = 0; bin < bins.size(); ++bin) {
    const bool is_last = bin + 1 == bins.size();
    if (bins[bin] == 0 && !is_last) continue;
    running += bins[bin];
    histogram.edges.push_back(
        is_last ? bound : std::max(kMultiple, static_cast<std::int64_t>(bin) * width));
    histogram.counts.push_back(running);
  }
  return histogram;
}

// Dynamic programming: least[c][e] is the least sum of padded totals of all batches up to edge e
// with c sizes, the largest of which is e.
std::vector<std::int64_t> best_edges(const Histogram& histogram, std::int64_t most) {
  constexpr auto kNever = std::numeric_limits<std::int64_t>::max();
  const std::size_t edges = histogram.edges.size();
  const auto sizes = std::min(static_cast<std::size_t>(most), edges);
  std::vector<std::vector<std::int64_t>> least(sizes, std::vector<std::int64_t>(edges, kNever));
  std::vector<std::vector<std::size_t>> before(sizes, std::vector<std::size_t>(edges, 0));
  for (std::size_t e = 0; e < edges; ++e) {
    least[0][e] = histogram.counts[e] * histogram.edges[e];
  }
  for (std::size_t c = 1; c < sizes; ++c) {
    for (std::size_t e = c; e < edges; ++e) {
      for (std::size_t f = c - 1; f < e; ++f) {
        const auto padded = (histogram.counts[e] - histogram.counts[f]) * histogram.edges[e];
        if (least[c - 1][f] + padded < least[c][e]) {
          least[c][e] = least[c - 1][f] + padded;
          before[c][e] = f;
        }
      }
    }
  }
  std::vector<std::int64_t> chosen;
  std::size_t edge = edges - 1;
  for (std::size_t c = sizes; c-- > 0; edge = before[c][edge]) {
    chosen.push_back(histogram.edges[edge]);
  }
  std::ranges::reverse(chosen);
  return chosen;
}

bool holds(const RowSizes& size, const RowSizes& batch) {
  return batch.tokens <= size.tokens && batch.text_targets <= size.text_targets &&
         batch.audio_targets <= size.audio_targets;
}

// At most `most` sizes that batches are padded to, smallest first, chosen so that batches such as
// those in `seen` compute as few tokens of padding as any choice of sizes can give (up to rounding
// to multiples of 8). The last one is `bound`, which every batch fits, rounded up.
std::vector<RowSizes> choose_sizes(std::span<const RowSizes> seen, const RowSizes& bound,
                                   std::int64_t most) {
  const auto edges = best_edges(count_totals(seen, rounded_up(bound.tokens, kMultiple)), most);
  std::vector<RowSizes> sizes;
  for (const std::int64_t edge : edges) {
    sizes.push_back({.tokens = edge, .longest = bound.longest});
  }
  // Room for the targets of the batches that were seen; another one takes the next size.
  for (const RowSizes& batch : seen) {
    auto& size = *std::ranges::lower_bound(sizes, batch.tokens, {}, &RowSizes::tokens);
    size.text_targets = std::max(size.text_targets, rounded_up(batch.text_targets, kMultiple));
    size.audio_targets = std::max(size.audio_targets, rounded_up(batch.audio_targets, kMultiple));
  }
  sizes.back().text_targets = rounded_up(bound.text_targets, kMultiple);
  sizes.back().audio_targets = rounded_up(bound.audio_targets, kMultiple);
  for (std::size_t i = 1; i < sizes.size(); ++i) {
    sizes[i].text_targets = std::max(sizes[i].text_targets, sizes[i - 1].text_targets);
    sizes[i].audio_targets = std::max(sizes[i].audio_targets, sizes[i - 1].audio_targets);
  }
  // Clips and padding: never more pieces than if all of it were padding.
  for (RowSizes& size : sizes) {
    size.segments = bound.segments + (size.tokens + size.longest - 1) / size.longest;
  }
  return sizes;
}

// The first of `sizes` that holds the tokens and targets of a batch.
const RowSizes& fitting_size(std::span<const RowSizes> sizes, const RowSizes& batch) {
  const auto found =
      std::ranges::find_if(sizes, [&batch](const RowSizes& size) { return holds(size, batch); });
  MYXTTS_CHECK(found != sizes.end(), "a batch of {} tokens fits none of {} sizes", batch.tokens,
               sizes.size());
  return *found;
}

std::vector<VisitGroup> checked(std::vector<VisitGroup> groups) {
  std::int64_t visits = 0;
  for (const VisitGroup& group : groups) visits += group.visits;
  if (visits == 0) throw DataError("There is not one clip to make batches of.");
  return groups;
}

std::vector<RowSizes> sizes_of(const EpochPlanner& planner, const BatchSettings& settings) {
  if (!settings.static_shapes) return {};
  RowSizes bound = planner.bound();
  bound.tokens = std::max(bound.tokens, settings.least_tokens);
  std::vector<RowSizes> sizes =
      choose_sizes(planner.simulated(), bound, settings.most_token_counts);
  const auto too_small = [&settings](const RowSizes& size) {
    return size.tokens < settings.least_tokens;
  };
  std::erase_if(sizes, too_small);  // never the last one, the bound
  return sizes;
}

}  // namespace

BatchPlan::BatchPlan(const Corpus& corpus, std::vector<VisitGroup> groups, const GptConfig& gpt,
                     const BatchSettings& settings, const EpochStart& start)
    : settings_(settings),
      planner_(groups, RowLengths(corpus, groups, gpt), settings, start),
      sizes_(sizes_of(planner_, settings)) {}

BatchPlan::BatchPlan(const Corpus& corpus, const GptConfig& gpt, const BatchSettings& settings,
                     const EpochStart& start)
    : BatchPlan(corpus, checked({corpus.training_groups().begin(), corpus.training_groups().end()}),
                gpt, settings, start) {}

BatchPlan::BatchPlan(const Corpus& corpus, std::span<const ClipNumber> clips, const GptConfig& gpt,
                     const BatchSettings& settings)
    : BatchPlan(corpus, checked({once_each(clips)}), gpt, settings, EpochStart{}) {}

std::shared_ptr<const EpochPlan> BatchPlan::plan_of(std::int64_t epoch) const {
  const std::lock_guard lock(mutex_);
  if (known_[1] && known_[1]->epoch == epoch) std::swap(known_[0], known_[1]);
  if (!known_[0] || known_[0]->epoch != epoch) {
    known_[1] = std::move(known_[0]);
    known_[0] = std::make_shared<const EpochPlan>(planner_.plan(epoch));
  }
  return known_[0];
}

std::vector<Visit> BatchPlan::share(const EpochPlan& plan, std::int64_t step) const {
  return planner_.shares(plan.step(step))[static_cast<std::size_t>(settings_.rank)];
}

PlannedBatch BatchPlan::batch_of(DataPosition position, std::span<const Visit> visits) const {
  PlannedBatch batch{.position = position, .clips = {}, .repeats = {}, .sizes = {}};
  for (const Visit& visit : visits) {
    batch.clips.push_back(visit.clip);
    batch.repeats.push_back(visit.repeat);
  }
  if (settings_.static_shapes) batch.sizes = fitting_size(sizes_, planner_.lengths().total(visits));
  return batch;
}

std::int64_t BatchPlan::steps_per_epoch(std::int64_t epoch) const {
  if (settings_.batch_tokens || planner_.is_rest(epoch)) {
    return std::ssize(plan_of(epoch)->ends);
  }
  const std::int64_t clips = settings_.batch_size * settings_.world_size;
  return (planner_.visits() + clips - 1) / clips;
}

double BatchPlan::useful_share() const {
  if (!settings_.static_shapes) return 1.0;
  const auto plan = plan_of(0);
  std::int64_t useful = 0;
  std::int64_t computed = 0;
  for (std::int64_t step = 0; step < std::ssize(plan->ends); ++step) {
    const RowSizes batch = planner_.lengths().total(share(*plan, step));
    useful += batch.tokens;
    computed += fitting_size(sizes_, batch).tokens;
  }
  return static_cast<double>(useful) / static_cast<double>(computed);
}

PlannedBatch BatchPlan::batch(DataPosition position) const {
  const auto plan = plan_of(position.epoch);
  return batch_of(position, share(*plan, position.step));
}

std::vector<PlannedBatch> BatchPlan::batches_of_ranks(DataPosition position) const {
  const auto plan = plan_of(position.epoch);
  std::vector<PlannedBatch> batches;
  for (const auto& share : planner_.shares(plan->step(position.step))) {
    batches.push_back(batch_of(position, share));
  }
  return batches;
}

EpochStart BatchPlan::rest_from(DataPosition position) const {
  if (position.step == 0 && !planner_.is_rest(position.epoch)) {
    return {.epoch = position.epoch};
  }
  const auto plan = plan_of(position.epoch);
  return {
      .epoch = position.epoch, .visits = plan->visits_before(position.step), .order = plan->order};
}

DataPosition BatchPlan::next(DataPosition position) const {
  const bool is_last = position.step + 1 >= steps_per_epoch(position.epoch);
  return is_last ? DataPosition{position.epoch + 1, 0}
                 : DataPosition{position.epoch, position.step + 1};
}

}  // namespace myxtts
