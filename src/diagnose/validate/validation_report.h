// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "device/plan/device_plan.h"

namespace myxtts {

enum class Verdict { Pass, Fail, Skip };

std::string name_of(Verdict verdict);  // "PASS", "FAIL", "SKIP"

// One line of validate's table.
struct CheckResult {
  std::string id;    // for scripts: "model.parameters"; what stands before the dot is its step
  std::string name;  // for people: "parameters"
  Verdict verdict = Verdict::Pass;
  std::string found = {};   // what was measured; of a check that failed or was skipped, why
  std::string remedy = {};  // what to do or to type; empty: nothing
};

CheckResult passed(std::string id, std::string name, std::string found);
CheckResult failed(std::string id, std::string name, std::string reason, std::string remedy);
CheckResult skipped(std::string id, std::string name, std::string reason, std::string remedy = {});

using CheckResults = std::vector<CheckResult>;

// No check failed.
bool all_passed(const CheckResults& results);

// One of the five steps. What `checks` throws is a failed check of its own.
struct ValidationStep {
  std::string id;      // "model"
  std::string name;    // "Model on the model device"
  std::string remedy;  // where checks() throws
  std::function<CheckResults()> checks;
};

// What one step found.
struct StepResult {
  std::string id;
  std::string name;
  double seconds = 0;
  CheckResults checks = {};
};

// Takes the steps in order. Those behind one whose checks() threw are skipped, as they stand on it;
// behind one with a failed check they go on. Shows progress.
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
