// SPDX-License-Identifier: Apache-2.0
#include "diagnose/validate/verdict.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <utility>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/progress.h"

namespace myxtts {
namespace {

double seconds_since(Clock::Time start) {
  return std::chrono::duration<double>(system_clock().now() - start).count();
}

}  // namespace

std::string name_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::Pass:
      return "PASS";
    case Verdict::Fail:
      return "FAIL";
    case Verdict::Skip:
      return "SKIP";
  }
  return "FAIL";
}

CheckResult passed(std::string id, std::string name, std::string found) {
  return {.id = std::move(id), .name = std::move(name), .found = std::move(found)};
}

CheckResult failed(std::string id, std::string name, std::string reason, std::string remedy) {
  return {.id = std::move(id),
          .name = std::move(name),
          .verdict = Verdict::Fail,
          .found = std::move(reason),
          .remedy = std::move(remedy)};
}

CheckResult skipped(std::string id, std::string name, std::string reason, std::string remedy) {
  return {.id = std::move(id),
          .name = std::move(name),
          .verdict = Verdict::Skip,
          .found = std::move(reason),
          .remedy = std::move(remedy)};
}

bool all_passed(const CheckResults& results) {
  return std::ranges::none_of(
      results, [](const CheckResult& result) { return result.verdict == Verdict::Fail; });
}

bool all_passed(const std::vector<StepResult>& results) {
  return std::ranges::all_of(results,
                             [](const StepResult& step) { return all_passed(step.checks); });
}

std::vector<StepResult> run_steps(const std::vector<ValidationStep>& steps) {
  std::vector<StepResult> results;
  std::string broken;  // the step that threw
  Progress progress({.title = "Validating", .total = steps.size()});
  for (const ValidationStep& step : steps) {
    progress.tell(step.name);
    const auto start = system_clock().now();
    StepResult result{.id = step.id, .name = step.name};
    if (!broken.empty()) {
      result.checks = {skipped(step.id + ".all", "everything",
                               fmt::format("not tried: it builds on \"{}\"", broken))};
    } else {
      try {
        result.checks = step.checks();
      } catch (const std::exception& error) {
        broken = step.name;
        result.checks = {failed(step.id + ".all", "everything", error.what(), step.remedy)};
      }
    }
    result.seconds = seconds_since(start);
    results.push_back(std::move(result));
    progress.advance();
  }
  return results;
}

}  // namespace myxtts
