// SPDX-License-Identifier: Apache-2.0
#include "data/batches/batch_sizes.h"

#include <algorithm>
#include <limits>

#include "base/error.h"

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

}  // namespace

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

const RowSizes& fitting_size(std::span<const RowSizes> sizes, const RowSizes& batch) {
  const auto found =
      std::ranges::find_if(sizes, [&batch](const RowSizes& size) { return holds(size, batch); });
  MYXTTS_CHECK(found != sizes.end(), "a batch of {} tokens fits none of {} sizes", batch.tokens,
               sizes.size());
  return *found;
}

}  // namespace myxtts
