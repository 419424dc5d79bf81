// SPDX-License-Identifier: Apache-2.0
#include "device/plan/plan_file.h"

#include <span>

#include "base/atomic_file.h"

namespace myxtts {

void write_plan(const DevicePlan& plan, const std::filesystem::path& run_directory) {
  const std::string json = to_json(plan);
  AtomicFile file(run_directory / "plan.json");
  file.write(std::as_bytes(std::span(json)));
  file.commit();
}

}  // namespace myxtts
