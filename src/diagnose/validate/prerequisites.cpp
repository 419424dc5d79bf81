// SPDX-License-Identifier: Apache-2.0
#include "diagnose/validate/prerequisites.h"

namespace myxtts {
namespace {

bool is_of_gpus(const Check& check) {
  return check.id == "driver" || check.id == "cuda_plugin" || check.id.starts_with("gpu");
}

CheckResult judged(const Check& check) {
  const std::string id = "prerequisites." + check.id;
  if (check.state == CheckState::Missing) {
    return failed(id, check.name, check.found.empty() ? "missing" : check.found, check.remedy);
  }
  CheckResult result = passed(id, check.name, check.found);
  if (check.state == CheckState::Warning) result.remedy = check.remedy;
  return result;
}

}  // namespace

CheckResults check_prerequisites(const std::vector<Check>& checklist, bool with_gpu) {
  CheckResults results;
  for (const Check& check : checklist) {
    if (check.cpu_run_needs_it || (with_gpu && is_of_gpus(check))) results.push_back(judged(check));
  }
  if (!with_gpu) {
    results.push_back(skipped("prerequisites.gpus", "driver, plugin, GPUs",
                              "both roles are on the CPU; myxtts doctor tells of GPUs"));
  }
  return results;
}

}  // namespace myxtts
