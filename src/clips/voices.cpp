// SPDX-License-Identifier: Apache-2.0
#include "clips/voices.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include <ATen/ATen.h>

#include "audio/resample.h"
#include "base/interruption.h"

namespace myxtts {
namespace {

constexpr double kVoicePiece = 1.6;         // seconds that are heard at once
constexpr std::int64_t kPiecesAtOnce = 16;  // pieces
constexpr std::int64_t kMostMerged = 1000;

at::Tensor of_length_one(const at::Tensor& rows) {
  return rows / rows.norm(2, {-1}, true).clamp_min(1e-12);
}

// The pieces of a unit [pieces, S], which overlap by half; a shorter one is repeated.
at::Tensor pieces_of(const at::Tensor& sound, std::int64_t length) {
  if (sound.size(0) <= length) {
    const auto times = (length + sound.size(0) - 1) / std::max<std::int64_t>(sound.size(0), 1);
    return sound.repeat({times}).narrow(0, 0, length).unsqueeze(0);
  }
  std::vector<at::Tensor> pieces;
  const auto count = (sound.size(0) - length + length / 2 - 1) / (length / 2) + 1;
  for (std::int64_t piece = 0; piece < count; ++piece) {
    const auto at = std::min(piece * (length / 2), sound.size(0) - length);
    pieces.push_back(sound.narrow(0, at, length));
  }
  return at::stack(pieces);
}

}  // namespace

at::Tensor voices_of(const VoiceListener& listener, const Recording& recording,
                     std::span<const CutUnit> units, const std::function<void()>& heard) {
  const at::NoGradGuard no_gradients;
  const Resampler resample(kClipRate, listener.sample_rate, at::kCPU);
  const auto length =
      static_cast<std::int64_t>(kVoicePiece * static_cast<double>(listener.sample_rate));
  std::vector<at::Tensor> voices;
  for (const CutUnit& unit : units) {
    stop_if_interrupted();
    const auto first = std::llround(unit.begin * kClipRate);
    const auto last = std::max(std::llround(unit.end * kClipRate), first + 1);
    const auto pieces = pieces_of(resample(recording.sound(first, last)), length);
    std::vector<at::Tensor> rows;
    for (const auto& batch : pieces.split(kPiecesAtOnce)) {
      rows.push_back(listener.encoder(batch.to(listener.device)).to(at::kCPU, at::kFloat));
    }
    voices.push_back(of_length_one(at::cat(rows).mean(0)));
    if (heard) heard();
  }
  return voices.empty() ? at::empty({0, 1}) : at::stack(voices);
}

at::Tensor means_of_groups(const at::Tensor& voices, std::span<const double> weights,
                           std::span<const std::int64_t> groups) {
  const auto count = groups.empty() ? 0 : std::ranges::max(groups) + 1;
  auto sums = at::zeros({count, voices.size(1)});
  for (std::size_t i = 0; i < groups.size(); ++i) {
    sums.select(0, groups[i]).add_(voices.select(0, static_cast<std::int64_t>(i)), weights[i]);
  }
  return of_length_one(sums);
}

namespace {

// Merges the two groups whose means are most alike, until none are alike enough. Gives the group
// of each row, in any numbering. Each row knows its best partner, so that a merge looks at those
// rows again whose partner changed.
class Merging {
 public:
  Merging(const at::Tensor& voices, std::span<const double> weights)
      : count_(voices.size(0)),
        sums_(voices * at::tensor(weights, at::kFloat).unsqueeze(1)),
        alike_(at::matmul(voices, voices.t()).contiguous()),
        group_(static_cast<std::size_t>(count_)),
        partner_(group_.size()) {
    std::iota(group_.begin(), group_.end(), 0);
    for (std::int64_t row = 0; row < count_; ++row) likeness(row, row) = kGone;
    for (std::int64_t row = 0; row < count_; ++row) find_partner(row);
  }

  std::vector<std::int64_t> run(double least) {
    for (std::int64_t left = count_; left > 1; --left) {
      std::int64_t best = 0;
      for (std::int64_t row = 1; row < count_; ++row) {
        if (of_partner(row) > of_partner(best)) best = row;
      }
      if (static_cast<double>(of_partner(best)) < least) break;
      merge(best, partner_[static_cast<std::size_t>(best)]);
    }
    return group_;
  }

 private:
  static constexpr float kGone = -2.0F;

  float& likeness(std::int64_t a, std::int64_t b) {
    return alike_.mutable_data_ptr<float>()[a * count_ + b];
  }
  float of_partner(std::int64_t row) {
    return likeness(row, partner_[static_cast<std::size_t>(row)]);
  }
  void find_partner(std::int64_t row) {
    const float* first = &likeness(row, 0);
    partner_[static_cast<std::size_t>(row)] = std::max_element(first, first + count_) - first;
  }

  void merge(std::int64_t a, std::int64_t b) {
    sums_[a] += sums_[b];
    std::ranges::replace(group_, b, a);
    const auto means = of_length_one(sums_);
    const auto row = at::mv(means, means[a]).contiguous();
    for (std::int64_t other = 0; other < count_; ++other) {
      const bool is_there = other != b && likeness(a, other) > kGone;
      likeness(a, other) = likeness(other, a) =
          is_there ? row.const_data_ptr<float>()[other] : kGone;
      likeness(b, other) = likeness(other, b) = kGone;
    }
    find_partner(a);
    for (std::int64_t other = 0; other < count_; ++other) {
      auto& partner = partner_[static_cast<std::size_t>(other)];
      if (partner == a || partner == b) {
        find_partner(other);
      } else if (likeness(other, a) > likeness(other, partner)) {
        partner = a;
      }
    }
  }

  const std::int64_t count_;
  at::Tensor sums_;   // [count, D]
  at::Tensor alike_;  // [count, count]
  std::vector<std::int64_t> group_;
  std::vector<std::int64_t> partner_;
};

// From the heaviest group on, from 0.
std::vector<std::int64_t> numbered(const std::vector<std::int64_t>& groups,
                                   std::span<const double> weights) {
  std::vector<std::pair<double, std::int64_t>> sums;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    auto found = std::ranges::find(sums, groups[i], &std::pair<double, std::int64_t>::second);
    if (found == sums.end()) found = sums.insert(sums.end(), {0.0, groups[i]});
    found->first -= weights[i];
  }
  std::ranges::sort(sums);
  std::vector<std::int64_t> result;
  for (const auto group : groups) {
    const auto found = std::ranges::find(sums, group, &std::pair<double, std::int64_t>::second);
    result.push_back(found - sums.begin());
  }
  return result;
}

}  // namespace

std::vector<std::int64_t> group_voices(const at::Tensor& voices, std::span<const double> weights,
                                       double likeness) {
  const auto count = voices.size(0);
  if (count == 0) return {};
  std::vector<std::size_t> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::stable_sort(order, std::greater<>(), [&](std::size_t i) { return weights[i]; });
  const auto taken = std::min(count, kMostMerged);
  std::vector<at::Tensor> rows;
  std::vector<double> heaviest;
  for (std::int64_t i = 0; i < taken; ++i) {
    const auto from = order[static_cast<std::size_t>(i)];
    rows.push_back(voices.select(0, static_cast<std::int64_t>(from)));
    heaviest.push_back(weights[from]);
  }
  const auto chosen = at::stack(rows);
  const auto groups = numbered(Merging(chosen, heaviest).run(likeness), heaviest);
  const auto means = means_of_groups(chosen, heaviest, groups);
  const auto nearest = at::matmul(voices, means.t()).argmax(1);
  std::vector<std::int64_t> result(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < order.size(); ++i) {
    const auto place = order[i];
    result[place] = i < groups.size()
                        ? groups[i]
                        : nearest[static_cast<std::int64_t>(place)].item<std::int64_t>();
  }
  return numbered(result, weights);
}

}  // namespace myxtts
