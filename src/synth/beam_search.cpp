// SPDX-License-Identifier: Apache-2.0
#include "synth/beam_search.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "base/random.h"

namespace myxtts {
namespace {

// So that the first step continues one beam only: all are equal then.
constexpr float kImpossible = -1.0e9F;

std::vector<std::size_t> largest(std::span<const float> values, std::size_t count) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto before = [&](std::size_t a, std::size_t b) {
    return values[a] != values[b] ? values[a] > values[b] : a < b;
  };
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count), order.end(),
                    before);
  order.resize(count);
  return order;
}

}  // namespace

BeamSearch::BeamSearch(const GptConfig& config, const SamplingSettings& settings,
                       std::int64_t most_codes, std::uint32_t text_number)
    : config_(config),
      settings_(settings),
      beams_(static_cast<std::size_t>(settings.beams)),
      most_codes_(most_codes),
      text_number_(text_number),
      running_(beams_),
      histories_(beams_, CodeHistory(config)),
      from_(beams_),
      codes_(beams_) {
  MYXTTS_CHECK(settings.beams > 1, "a search of {} beams is none", settings.beams);
  for (std::size_t beam = 1; beam < beams_; ++beam) running_[beam].score = kImpossible;
}

void BeamSearch::advance(std::span<float> logits) {
  MYXTTS_CHECK(!ended_, "a beam search that ended was asked to go on");
  auto found = continuations(logits);
  const bool all_end = std::ranges::all_of(found, &Continuation::ends);
  finish(found);
  run_on(std::move(found));
  ++length_;
  ended_ = all_end || !can_improve();
}

std::vector<BeamSearch::Continuation> BeamSearch::continuations(std::span<float> logits) {
  const auto ids = static_cast<std::size_t>(config_.audio_ids);
  for (std::size_t beam = 0; beam < beams_; ++beam) {
    const auto row = logits.subspan(beam * ids, ids);
    process_logits(row, histories_[beam], settings_);
    for (float& score : row) score += running_[beam].score;
  }
  const auto all = logits.first(beams_ * ids);
  const auto chosen =
      settings_.greedy ? largest(all, 2 * beams_) : draw_without_return(all, 2 * beams_);
  std::vector<Continuation> found;
  for (const std::size_t index : chosen) {
    const auto code = static_cast<std::int64_t>(index % ids);
    const bool ends = code == config_.stop_audio || length_ + 1 >= most_codes_;
    found.push_back({index / ids, code, all[index], ends});
  }
  return found;
}

// A race of exponential clocks, each as fast as its continuation is likely: the order in which they
// ring is that of drawing without putting back.
std::vector<std::size_t> BeamSearch::draw_without_return(std::span<const float> scores,
                                                         std::size_t count) {
  const RandomStream draws(settings_.seed, fmt::format("synth/beams/{}", text_number_));
  const std::uint64_t first = static_cast<std::uint64_t>(length_) * scores.size();
  std::vector<float> keys(scores.size());
  for (std::size_t i = 0; i < scores.size(); ++i) {
    const double clock = -std::log1p(-draws.uniform(first + i));
    keys[i] = static_cast<float>(static_cast<double>(scores[i]) - std::log(clock));
  }
  return largest(keys, count);
}

Beam BeamSearch::extended(const Continuation& continuation) const {
  Beam beam = running_[continuation.beam];
  beam.codes.push_back(continuation.code);
  beam.rows.push_back(static_cast<std::int64_t>(continuation.beam));
  beam.score = continuation.score;
  return beam;
}

void BeamSearch::finish(const std::vector<Continuation>& found) {
  const auto divisor =
      static_cast<float>(std::pow(static_cast<double>(length_ + 1), settings_.length_penalty));
  for (std::size_t i = 0; i < beams_; ++i) {
    if (!found[i].ends) continue;
    finished_.push_back(extended(found[i]));
    finished_.back().score /= divisor;
  }
  std::ranges::stable_sort(finished_, std::greater<>(), &Beam::score);
  if (finished_.size() > beams_) finished_.resize(beams_);
}

void BeamSearch::run_on(std::vector<Continuation> found) {
  std::vector<float> scores;
  for (auto& continuation : found) {
    if (continuation.ends) continuation.score += kImpossible;
    scores.push_back(continuation.score);
  }
  std::vector<Beam> running;
  std::vector<CodeHistory> histories;
  from_.clear();
  codes_.clear();
  for (const std::size_t index : largest(scores, beams_)) {
    const auto& continuation = found[index];
    running.push_back(extended(continuation));
    histories.push_back(histories_[continuation.beam]);
    histories.back().add(continuation.code);
    from_.push_back(static_cast<std::int64_t>(continuation.beam));
    codes_.push_back(continuation.code);
  }
  running_ = std::move(running);
  histories_ = std::move(histories);
}

// Whether the best running beam, as long as it is now, would beat the worst finished one.
bool BeamSearch::can_improve() const {
  if (finished_.size() < beams_) return true;
  const double divisor = std::pow(static_cast<double>(length_), settings_.length_penalty);
  return running_.front().score / static_cast<float>(divisor) > finished_.back().score;
}

const Beam& BeamSearch::best() const {
  MYXTTS_CHECK(ended_ && !finished_.empty(), "a beam search was asked for its result too early");
  return finished_.front();
}

}  // namespace myxtts
