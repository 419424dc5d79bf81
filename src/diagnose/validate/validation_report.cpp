// SPDX-License-Identifier: Apache-2.0
#include "diagnose/validate/validation_report.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <utility>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/interruption.h"
#include "base/progress.h"
#include "diagnose/report/markup.h"

namespace myxtts {
namespace {

double seconds_since(Clock::Time start) {
  return std::chrono::duration<double>(system_clock().now() - start).count();
}

std::size_t count(const std::vector<StepResult>& results, Verdict verdict) {
  std::ptrdiff_t found = 0;
  for (const StepResult& step : results) {
    found += std::ranges::count(step.checks, verdict, &Check::verdict);
  }
  return static_cast<std::size_t>(found);
}

double seconds_of(const std::vector<StepResult>& results) {
  double sum = 0;
  for (const StepResult& step : results) sum += step.seconds;
  return sum;
}

std::string verdict_sentence(const std::vector<StepResult>& results) {
  const std::size_t failures = count(results, Verdict::Fail);
  const std::string counts =
      fmt::format("{} passed, {} failed, {} skipped, in {:.1f} s", count(results, Verdict::Pass),
                  failures, count(results, Verdict::Skip), seconds_of(results));
  return failures == 0 ? fmt::format("This placement works: {}.\n", counts)
                       : fmt::format("This placement does not work: {}.\n", counts);
}

}  // namespace

bool all_passed(const std::vector<StepResult>& results) {
  return std::ranges::all_of(results,
                             [](const StepResult& step) { return all_passed(step.checks); });
}

std::vector<StepResult> run_steps(const std::vector<ValidationStep>& steps) {
  std::vector<StepResult> results;
  std::string broken;  // the step that threw
  Progress progress({.title = "Validating", .total = steps.size()});
  for (const ValidationStep& step : steps) {
    progress.set_note({.then = {step.name}});
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
    stop_if_interrupted();
    result.seconds = seconds_since(start);
    results.push_back(std::move(result));
    progress.advance();
  }
  return results;
}

std::string validation_text(const DevicePlan& plan, const std::vector<StepResult>& results) {
  std::size_t width = 0;
  for (const StepResult& step : results) width = std::max(width, longest_name(step.checks));
  std::string text = describe(plan);
  if (!text.ends_with('\n')) text += '\n';
  for (std::size_t i = 0; i < results.size(); ++i) {
    text += fmt::format("\n{}. {} ({:.1f} s)\n", i + 1, results[i].name, results[i].seconds) +
            describe(results[i].checks, width);
  }
  return text + "\n" + verdict_sentence(results);
}

std::string validation_json(const std::string& version, const DevicePlan& plan,
                            const std::vector<StepResult>& results) {
  Json report = {{"version", version},
                 {"passed", all_passed(results)},
                 {"seconds", seconds_of(results)},
                 {"plan", Json::parse(to_json(plan))},
                 {"steps", Json::array()}};
  for (const StepResult& step : results) {
    Json checks = Json::array();
    for (const Check& check : step.checks) {
      checks.push_back({{"id", check.id},
                        {"name", check.name},
                        {"verdict", name_of(check.verdict)},
                        {"found", check.found},
                        {"remedy", check.remedy}});
    }
    report["steps"].push_back({{"id", step.id},
                               {"name", step.name},
                               {"seconds", step.seconds},
                               {"checks", std::move(checks)}});
  }
  return json_text(report);
}

}  // namespace myxtts
