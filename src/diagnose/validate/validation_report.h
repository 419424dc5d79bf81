// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "device/plan/device_plan.h"
#include "diagnose/report/report.h"

namespace myxtts {

// One of the five steps. What `checks` throws is a failed check of its own.
struct ValidationStep {
  std::string id;      // "model"
  std::string name;    // "Model on the model device"
  std::string remedy;  // where checks() throws
  std::function<Checks()> checks;
};

// What one step found.
struct StepResult {
  std::string id;
  std::string name;
  double seconds = 0;
  Checks checks = {};
};

// Runs the steps in order. Those after one whose checks() threw are skipped, as they depend on it;
// after one with a failed check they continue. Shows progress.
std::vector<StepResult> run_steps(const std::vector<ValidationStep>& steps);

bool all_passed(const std::vector<StepResult>& results);

// What validate prints: a table of each step's checks, with the remedy under those that failed, and
// one sentence.
std::string validation_text(const DevicePlan& plan, const std::vector<StepResult>& results);

// The same for scripts: {"version", "passed", "seconds", "plan", "steps": [{"id", "name",
// "seconds", "checks": [{"id", "name", "verdict", "found", "remedy"}]}]}.
std::string validation_json(const std::string& version, const DevicePlan& plan,
                            const std::vector<StepResult>& results);

}  // namespace myxtts
