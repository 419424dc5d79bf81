// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "diagnose/doctor/checklist.h"

namespace myxtts {

// What doctor prints: the table, how the GPUs are connected where there are several, and one
// sentence on what can be done with this machine.
std::string report_text(const Findings& findings, const std::vector<Check>& checklist);

// The same for scripts: {"version", "can_run_on_cpu", "checks": [{"id", "state", ...}]}.
std::string report_json(const Findings& findings, const std::vector<Check>& checklist);

}  // namespace myxtts
