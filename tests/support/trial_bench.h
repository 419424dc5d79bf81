// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "config/effective_config.h"
#include "diagnose/profile/profile.h"
#include "session/trial/trial.h"
#include "support/planted_fault.h"

namespace myxtts::test {

using Settings = std::vector<std::pair<std::string, std::string>>;  // key, value

// Profiles as the command does, with settings by their keys; later ones win.
class TrialBench {
 public:
  explicit TrialBench(const Settings& settings) : settings_(settings) {}

  Profile run(const TrialSettings& trial, const Settings& more = {}) const;

 private:
  const Settings settings_;
};

Healthy healthy_of(const Profile& profile);

}  // namespace myxtts::test
