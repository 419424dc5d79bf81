// SPDX-License-Identifier: Apache-2.0
#include "diagnose/profile/profile.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include "diagnose/profile/remedies.h"

namespace myxtts {
namespace {

// Linear between the two nearest.
double percentile(const std::vector<double>& sorted, double share) {
  const double place = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const auto above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (place - std::floor(place)) * (sorted[above] - sorted[below]);
}

// What each more token of a step costs, by the straight line that fits best.
double seconds_a_token(std::span<const double> seconds, std::span<const std::int64_t> tokens) {
  const std::size_t count = std::min(seconds.size(), tokens.size());
  const std::vector<double> work(tokens.begin(),
                                 tokens.begin() + static_cast<std::ptrdiff_t>(count));
  const double mean_time = statistics_of(seconds.first(count)).mean;
  const double mean_work = statistics_of(work).mean;
  double together = 0;
  double squares = 0;
  for (std::size_t i = 0; i < count; ++i) {
    together += (work[i] - mean_work) * (seconds[i] - mean_time);
    squares += (work[i] - mean_work) * (work[i] - mean_work);
  }
  return squares > 0 ? std::max(0.0, together / squares) : 0.0;
}

// The same number of tokens as the measured steps had: what is kept are a few steps, maybe longer
// or shorter ones.
std::optional<double> ceiling_of(const TrialReading& reading, double tokens_a_step) {
  if (reading.resident_seconds.empty()) return std::nullopt;
  const double mean = statistics_of(reading.resident_seconds).mean;
  const double a_token = seconds_a_token(reading.step_seconds, reading.step_tokens);
  return std::max(0.0, mean + a_token * (tokens_a_step - reading.resident_tokens));
}

std::optional<double> use_of(const RoleSeen& role) {
  return role.gpu ? std::optional(role.gpu->busy_share) : std::nullopt;
}

// By what the three grades ask for, from the easiest to the hardest.
Grade graded(double value, double minimum, double good, double excellent) {
  const bool more_is_better = excellent > minimum;
  const auto reaches = [&](double limit) {
    return more_is_better ? value >= limit : value <= limit;
  };
  if (reaches(excellent)) return Grade::Excellent;
  if (reaches(good)) return Grade::Good;
  return reaches(minimum) ? Grade::Minimum : Grade::Poor;
}

}  // namespace

StepStatistics statistics_of(std::span<const double> seconds) {
  if (seconds.empty()) return {};
  std::vector<double> sorted(seconds.begin(), seconds.end());
  std::ranges::sort(sorted);
  const auto count = static_cast<double>(sorted.size());
  const double mean = std::accumulate(sorted.begin(), sorted.end(), 0.0) / count;
  double squares = 0;
  for (const double value : sorted) squares += (value - mean) * (value - mean);
  return {.mean = mean,
          .p50 = percentile(sorted, 0.5),
          .p99 = percentile(sorted, 0.99),
          .highest = sorted.back(),
          .variation = mean > 0 ? std::sqrt(squares / count) / mean : 0.0};
}

double variation_at_equal_work(std::span<const double> seconds,
                               std::span<const std::int64_t> tokens) {
  const double a_token = seconds_a_token(seconds, tokens);
  std::vector<double> alike;  // each step as it would be with as many tokens as the first
  for (std::size_t i = 0; i < std::min(seconds.size(), tokens.size()); ++i) {
    alike.push_back(seconds[i] - a_token * static_cast<double>(tokens[i] - tokens[0]));
  }
  const StepStatistics steps = statistics_of(alike);
  const double mean = statistics_of(seconds).mean;
  return mean > 0 ? steps.variation * steps.mean / mean : 0.0;
}

std::string name_of(Cause cause) {
  static constexpr const char* kNames[] = {"reading",  "decoding",        "features",
                                           "transfer", "model-bound",     "host-bound launch",
                                           "padding",  "memory pressure", "oscillation"};
  return kNames[static_cast<std::size_t>(cause)];
}

Profile make_profile(const ProfileSetup& setup, TrialReading measured) {
  Profile profile{.setup = setup, .reading = std::move(measured)};
  const TrialReading& reading = profile.reading;
  profile.steps = statistics_of(reading.step_seconds);
  profile.variation = variation_at_equal_work(reading.step_seconds, reading.step_tokens);
  const double time =
      std::accumulate(reading.step_seconds.begin(), reading.step_seconds.end(), 0.0);
  const auto steps = static_cast<double>(reading.step_seconds.size());
  profile.clips_per_second = share_of(static_cast<double>(reading.clips), time);
  profile.audio_hours_per_hour = share_of(reading.audio_seconds, time);
  profile.ceiling_seconds =
      ceiling_of(reading, share_of(static_cast<double>(reading.tokens), steps));
  const ReadinessReading& ready = reading.pipeline.readiness;
  profile.waited_share = share_of(
      ready.waited_seconds, ready.waited_seconds + reading.pipeline.model_device.busy_seconds);
  const FeatureTimeReading& features = reading.pipeline.features;
  const double transfer = share_of(features.transfer_seconds + features.upload_seconds,
                                   static_cast<double>(features.batches)) *
                          share_of(static_cast<double>(reading.batches), steps);
  profile.transfer_share = share_of(transfer, profile.steps.mean);
  profile.padding_share = share_of(static_cast<double>(reading.tokens - reading.useful_tokens),
                                   static_cast<double>(reading.tokens));
  profile.findings = find_causes(profile);
  return profile;
}

std::vector<Threshold> thresholds_of(const Profile& profile) {
  return {{.name = "data loading",
           .meaning = "of the time the model waited for batches",
           .limit = kMostDataLoading,
           .measured = profile.waited_share},
          {.name = "transfer",
           .meaning = "of a step's time batches were copied, also beside it",
           .limit = kMostTransfer,
           .measured = profile.transfer_share},
          {.name = "variation",
           .meaning = "of the time of steps, for equal work",
           .limit = kMostVariation,
           .measured = profile.variation},
          {.name = "model GPU",
           .meaning = "of the time it was in use",
           .limit = kLeastModelGpu,
           .is_least = true,
           .measured = use_of(profile.reading.model)},
          {.name = "data GPU",
           .meaning = "of the time it was in use",
           .limit = kMostDataGpu,
           .measured = profile.setup.plan.mode == Mode::Dual ? use_of(profile.reading.data)
                                                             : std::nullopt}};
}

std::string name_of(Grade grade) {
  static constexpr const char* kNames[] = {"below minimum", "minimum", "good", "excellent"};
  return kNames[static_cast<std::size_t>(grade)];
}

std::vector<Mark> marks_of(const Profile& profile) {
  const double readiness = profile.reading.pipeline.readiness.share();
  std::vector<Mark> marks{
      {.name = "variation",
       .measured = profile.variation,
       .grade = graded(profile.variation, kMostVariation, 0.15, 0.05)},
      {.name = "readiness", .measured = readiness, .grade = graded(readiness, 0.80, 0.95, 0.995)}};
  if (const auto use = use_of(profile.reading.model)) {
    marks.insert(marks.begin(), {.name = "model GPU use",
                                 .measured = *use,
                                 .grade = graded(*use, kLeastModelGpu, 0.80, 0.90)});
  }
  return marks;
}

Grade grade_of(const std::vector<Mark>& marks) {
  Grade worst = Grade::Excellent;
  for (const Mark& mark : marks) worst = std::min(worst, mark.grade);
  return worst;
}

}  // namespace myxtts
