// SPDX-License-Identifier: Apache-2.0
#include "diagnose/profile/profile.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "diagnose/profile/verdict.h"

namespace myxtts {
namespace {

double share_of(double part, double whole) {
  return whole > 0 ? part / whole : 0.0;
}

// The same number of tokens as the measured steps had: what is kept are a few steps, maybe longer
// or shorter ones.
std::optional<double> ceiling_of(const TrialReading& reading, double tokens_a_step) {
  if (reading.resident_seconds.empty()) return std::nullopt;
  const double mean = statistics_of(reading.resident_seconds).mean;
  const double a_token = seconds_a_token(reading.step_seconds, reading.step_tokens);
  return std::max(0.0, mean + a_token * (tokens_a_step - reading.resident_tokens));
}

}  // namespace

std::string name_of(Cause cause) {
  switch (cause) {
    case Cause::Reading:
      return "reading";
    case Cause::Decoding:
      return "decoding";
    case Cause::Features:
      return "features";
    case Cause::Transfer:
      return "transfer";
    case Cause::ModelBound:
      return "model-bound";
    case Cause::Launch:
      return "host-bound launch";
    case Cause::Padding:
      return "padding";
    case Cause::MemoryPressure:
      return "memory pressure";
    case Cause::Oscillation:
      return "oscillation";
  }
  return "?";
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

}  // namespace myxtts
