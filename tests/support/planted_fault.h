// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "diagnose/profile/profile.h"
#include "session/trial/trial.h"

namespace myxtts::test {

// A bottleneck that is planted in the real stages: timed waits, or batches that are padded too far.
struct PlantedFault {
  std::string name;  // "slow decoder"
  Cause expected = Cause::ModelBound;
  double strength = 0;
  double seconds = 0;  // of each step that the faulty work takes, all its workers together
};

// What a fault's strength is measured by: a training without it.
struct Healthy {
  double step_seconds = 0;
  double clips = 0;    // of a step
  double workers = 1;  // that decode
  double tokens = 0;   // of a batch, without padding
};

const std::vector<std::string>& fault_names();

// `strength`: how many healthy steps the faulty stage takes for the work of one; of padding, half
// as often as the tokens that a batch needs are computed. Throws InternalError for an unknown name.
PlantedFault make_fault(const std::string& name, double strength, const Healthy& healthy);

// Puts the faults into a trial, each where its work is done.
void plant(const std::vector<PlantedFault>& faults, const Healthy& healthy, std::uint64_t seed,
           TrialSettings& trial);

}  // namespace myxtts::test
