// SPDX-License-Identifier: Apache-2.0
#include "data/batches/epoch_plan.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "data/batches/epoch_order.h"

namespace myxtts {
namespace {

constexpr std::int64_t kStopTargets = 4;

void check(const Corpus& corpus, ClipNumber clip, std::int64_t length, std::int64_t limit,
           std::string_view what) {
  if (length >= 1 && length <= limit) return;
  throw DataError(fmt::format("The clip {} has {} {}; this model takes 1 to {}.",
                              corpus.clip(clip).id, length, what, limit));
}

}  // namespace

RowLengths::RowLengths(const Corpus& corpus, std::span<const VisitGroup> groups,
                       const GptConfig& gpt)
    : latents_(gpt.perceiver_latents), text_targets_(corpus.size()), audio_targets_(corpus.size()) {
  constexpr std::int64_t kMost = std::numeric_limits<std::uint16_t>::max() - kStopTargets;
  for (const VisitGroup& group : groups) {
    for (const ClipNumber clip : group.clips) {
      const std::int64_t text = corpus.text_tokens(clip);
      const std::int64_t codes = (corpus.samples(clip) + gpt.code_stride - 1) / gpt.code_stride;
      check(corpus, clip, text, std::min(gpt.max_text_tokens, kMost), "text tokens");
      check(corpus, clip, codes, std::min(gpt.max_audio_tokens - 2, kMost), "codes of sound");
      text_targets_[clip] = static_cast<std::uint16_t>(text + 1);
      audio_targets_[clip] = static_cast<std::uint16_t>(codes + kStopTargets);
      longest_ = std::max(longest_, tokens(clip));
      shortest_ = shortest_ == 0 ? tokens(clip) : std::min(shortest_, tokens(clip));
    }
  }
}

RowSizes RowLengths::total(std::span<const Visit> visits) const {
  RowSizes sum;
  for (const Visit& visit : visits) {
    sum.tokens += tokens(visit.clip);
    sum.text_targets += text_targets(visit.clip);
    sum.audio_targets += audio_targets(visit.clip);
    sum.longest = std::max(sum.longest, tokens(visit.clip));
  }
  return sum;
}

namespace {

constexpr std::int64_t kMostDraws = 64;
constexpr std::int64_t kSimulatedSteps = 4096;  // about as many; in 4 to 64 epochs
constexpr double kSlotsToSpare = 1.25;          // clips in a token budget, over what is usual

// The most tokens that a group's visits of one epoch, which go round its clips, can have.
std::int64_t most_tokens_of(const VisitGroup& group, const RowLengths& lengths) {
  const auto clips = group.clips.size();
  if (clips == 0) return 0;
  const auto at = [&](std::size_t place) { return lengths.tokens(group.clips[place % clips]); };
  const auto rest = static_cast<std::size_t>(group.visits) % clips;
  std::int64_t all = 0;
  for (std::size_t i = 0; i < clips; ++i) all += at(i);
  std::int64_t window = 0;
  for (std::size_t i = 0; i < rest; ++i) window += at(i);
  std::int64_t most = window;
  for (std::size_t i = 0; rest > 0 && i < clips; ++i) {
    window += at(i + rest) - at(i);
    most = std::max(most, window);
  }
  return group.visits / static_cast<std::int64_t>(clips) * all + most;
}

bool is_same_every_epoch(const VisitGroup& group) {
  return group.clips.empty() || group.visits % static_cast<std::int64_t>(group.clips.size()) == 0;
}

// Which of `hands` gets the card at `place` when they are dealt back and forth.
std::size_t hand_of(std::size_t place, std::size_t hands) {
  const std::size_t turn = place % hands;
  return place / hands % 2 == 0 ? turn : hands - 1 - turn;
}

}  // namespace

std::span<const Visit> EpochPlan::step(std::int64_t number) const {
  const auto n = static_cast<std::size_t>(number);
  MYXTTS_CHECK(number >= 0 && n < ends.size(), "step {} of {} was asked for", number, ends.size());
  const std::size_t first = n == 0 ? 0 : ends[n - 1];
  return std::span(visits).subspan(first, ends[n] - first);
}

std::int64_t EpochPlan::visits_before(std::int64_t number) const {
  const std::span<const Visit> from = step(number);
  return before + (from.data() - visits.data());
}

EpochPlanner::EpochPlanner(std::vector<VisitGroup> groups, RowLengths lengths,
                           const BatchSettings& settings, const EpochStart& start)
    : groups_(std::move(groups)), lengths_(std::move(lengths)), settings_(settings), start_(start) {
  MYXTTS_CHECK(settings.world_size >= 1 && settings.rank >= 0 &&
                   settings.rank < settings.world_size && settings.batch_size >= 1,
               "rank {} of {} with batches of {} clips", settings.rank, settings.world_size,
               settings.batch_size);
  for (const VisitGroup& group : groups_) visits_ += group.visits;
  if (start.order && start.visits >= visits_) {
    throw DataError(fmt::format(
        "The state of the run says that {} clips of its epoch were trained, and an epoch has {}; "
        "continue from another checkpoint with --resume STEP.",
        start.visits, visits_));
  }
  set_slots();
  simulate();
}

void EpochPlanner::set_slots() {
  slots_ = settings_.batch_size;
  if (!settings_.batch_tokens || visits_ == 0) return;
  const std::int64_t budget = *settings_.batch_tokens;
  // Ranks are dealt about equal shares; one may get a clip's length more.
  const std::int64_t least = lengths_.longest() * (settings_.world_size > 1 ? 2 : 1);
  if (budget < least) {
    throw ConfigError(fmt::format(
        "--batch-tokens {} is too small: the longest clip needs {} tokens here. Give at least {}.",
        budget, least, least));
  }
  const auto mean = static_cast<double>(lengths_.total(visits_of_epoch(groups_, 0)).tokens) /
                    static_cast<double>(visits_);
  slots_ = static_cast<std::int64_t>(std::ceil(static_cast<double>(budget) / mean * kSlotsToSpare));
}

void EpochPlanner::simulate() {
  if (visits_ == 0) return;
  const std::int64_t steps = visits_ / step_clips() + 1;
  const auto epochs =
      settings_.shuffle ? std::clamp<std::int64_t>(kSimulatedSteps / steps, 4, 64) : 1;
  std::int64_t largest = 0;
  double sum = 0;
  double squares = 0;
  double count = 0;
  for (std::int64_t epoch = 0; epoch < epochs; ++epoch) {
    const EpochPlan plan = divided(epoch, {});
    for (std::int64_t step = 0; step < std::ssize(plan.ends); ++step) {
      for (const auto& share : shares(plan.step(step))) simulated_.push_back(lengths_.total(share));
      const auto total = lengths_.total(plan.step(step)).tokens;
      largest = std::max(largest, total);
      sum += static_cast<double>(total);
      squares += static_cast<double>(total) * static_cast<double>(total);
      ++count;
    }
  }
  const bool always_the_same =
      !settings_.shuffle && std::ranges::all_of(groups_, is_same_every_epoch);
  const std::int64_t worst = step_clips() * lengths_.longest();
  const double deviation = std::sqrt(std::max(0.0, squares / count - sum / count * (sum / count)));
  const auto likely = largest + static_cast<std::int64_t>(deviation / 2);
  step_limit_ = settings_.shuffle ? std::min(worst, std::max(likely, provable_limit())) : worst;
  if (always_the_same) step_limit_ = largest;
}

// What dealt() never exceeds: in a deal of sorted lengths, two hands differ by at most the
// difference of the longest and the shortest card.
std::int64_t EpochPlanner::provable_limit() const {
  std::int64_t most = 0;
  for (const VisitGroup& group : groups_) most += most_tokens_of(group, lengths_);
  const std::int64_t full_steps = visits_ / step_clips();
  if (full_steps == 0) return most;
  return (most + full_steps - 1) / full_steps + lengths_.longest() - lengths_.shortest();
}

EpochPlan EpochPlanner::plan(std::int64_t epoch) const {
  if (is_rest(epoch)) return rest();
  if (!settings_.shuffle) return divided(epoch, {});
  for (std::int64_t attempt = 0; attempt < kMostDraws; ++attempt) {
    const EpochOrder order{.attempt = attempt};
    auto plan = divided(epoch, order);
    if (fits(plan)) return plan;
  }
  return dealt(epoch);
}

EpochPlan EpochPlanner::rest() const {
  auto visits = ordered(start_.epoch, *start_.order);
  visits.erase(visits.begin(), visits.begin() + static_cast<std::ptrdiff_t>(start_.visits));
  EpochPlan plan{.epoch = start_.epoch,
                 .visits = std::move(visits),
                 .order = *start_.order,
                 .before = start_.visits};
  plan.ends = ends(plan.visits, settings_.batch_tokens ? step_budget() : step_limit_);
  return plan;
}

std::vector<Visit> EpochPlanner::ordered(std::int64_t epoch, const EpochOrder& order) const {
  auto visits = visits_of_epoch(groups_, epoch);
  if (!settings_.shuffle) return visits;
  visits = shuffled(visits, settings_.seed, epoch, order.attempt);
  return order.dealt == 0 ? visits : dealt_to(visits, order.dealt);
}

EpochPlan EpochPlanner::divided(std::int64_t epoch, const EpochOrder& order) const {
  EpochPlan plan{.epoch = epoch, .visits = ordered(epoch, order), .order = order};
  plan.ends = ends(plan.visits, step_budget());
  return plan;
}

// The tokens of a step's clips, at most, with a token budget; without, a limit is no setting.
std::int64_t EpochPlanner::step_budget() const {
  if (!settings_.batch_tokens) return std::numeric_limits<std::int64_t>::max();
  const std::int64_t spare = settings_.world_size > 1 ? lengths_.longest() : 0;
  return settings_.world_size * (*settings_.batch_tokens - spare);
}

std::vector<std::size_t> EpochPlanner::ends(std::span<const Visit> visits,
                                            std::int64_t most_tokens) const {
  std::vector<std::size_t> ends;
  std::size_t first = 0;
  std::int64_t tokens = 0;
  for (std::size_t i = 0; i < visits.size(); ++i) {
    const std::int64_t row = lengths_.tokens(visits[i].clip);
    const bool is_full = static_cast<std::int64_t>(i - first) == step_clips();
    if (i > first && (is_full || row > most_tokens - tokens)) {
      ends.push_back(i);
      first = i;
      tokens = 0;
    }
    tokens += row;
  }
  if (!visits.empty()) ends.push_back(visits.size());
  return ends;
}

bool EpochPlanner::fits(const EpochPlan& plan) const {
  if (settings_.batch_tokens) return true;  // made so
  for (std::int64_t step = 0; step < std::ssize(plan.ends); ++step) {
    if (lengths_.total(plan.step(step)).tokens > step_limit_) return false;
  }
  return true;
}

std::vector<Visit> EpochPlanner::by_length(std::span<const Visit> visits) const {
  std::vector<Visit> sorted(visits.begin(), visits.end());
  std::ranges::stable_sort(sorted, std::ranges::greater(),
                           [this](const Visit& visit) { return lengths_.tokens(visit.clip); });
  return sorted;
}

EpochPlan EpochPlanner::dealt(std::int64_t epoch) const {
  const EpochOrder order{.attempt = kMostDraws, .dealt = step_clips()};
  return divided(epoch, order);
}

std::vector<Visit> EpochPlanner::dealt_to(std::span<const Visit> visits, std::int64_t clips) const {
  const auto sorted = by_length(visits);
  const auto hand = static_cast<std::size_t>(clips);
  const std::size_t steps = sorted.size() / hand;  // full ones; the shortest clips are left over
  std::vector<Visit> placed = sorted;
  for (std::size_t i = 0; i < steps * hand; ++i) {
    placed[hand_of(i, steps) * hand + i / steps] = sorted[i];
  }
  return placed;
}

std::vector<std::vector<Visit>> EpochPlanner::shares(std::span<const Visit> step) const {
  if (settings_.world_size == 1) return {{step.begin(), step.end()}};
  const auto ranks = static_cast<std::size_t>(settings_.world_size);
  std::vector<std::vector<Visit>> hands(ranks);
  const auto sorted = by_length(step);
  for (std::size_t i = 0; i < sorted.size(); ++i) hands[hand_of(i, ranks)].push_back(sorted[i]);
  return hands;
}

RowSizes EpochPlanner::bound() const {
  const std::int64_t world = settings_.world_size;
  std::int64_t tokens = slots_ * lengths_.longest();
  if (settings_.batch_tokens) {
    tokens = std::min(tokens, *settings_.batch_tokens);
  } else if (world == 1) {
    tokens = std::min(tokens, step_limit_);
  } else {
    tokens = std::min(tokens, step_limit_ / world + lengths_.longest());
  }
  return {.tokens = tokens,
          .text_targets = std::min(tokens, most_targets(&RowLengths::text_targets)),
          .audio_targets = std::min(tokens, most_targets(&RowLengths::audio_targets)),
          .longest = lengths_.longest(),
          .segments = slots_};
}

// The targets of the slots' longest clips, each as often as an epoch may visit it.
std::int64_t EpochPlanner::most_targets(std::int64_t (RowLengths::*targets)(ClipNumber)
                                            const) const {
  std::vector<std::int64_t> found;
  for (const VisitGroup& group : groups_) {
    const auto repeats = std::min(group.most_repeats(), slots_);
    for (const ClipNumber clip : group.clips) {
      found.insert(found.end(), static_cast<std::size_t>(repeats), (lengths_.*targets)(clip));
    }
  }
  const auto count = std::min(static_cast<std::size_t>(slots_), found.size());
  const auto middle = found.begin() + static_cast<std::ptrdiff_t>(count);
  std::nth_element(found.begin(), middle, found.end(), std::greater());
  std::int64_t sum = 0;
  for (auto it = found.begin(); it != middle; ++it) sum += *it;
  return sum;
}

}  // namespace myxtts
