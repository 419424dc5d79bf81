// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "diagnose/doctor/measure.h"
#include "diagnose/report/report.h"

namespace myxtts {

// Judges what was found, in the order of doctor's table.
Checks make_checklist(const Findings& findings);

// Whether everything is there that a run on the CPU needs.
bool can_run_on_cpu(const Checks& checklist);

// What doctor prints: the table, how the GPUs are connected where there are several, and one
// sentence on what can be done with this machine.
std::string report_text(const Findings& findings, const Checks& checklist);

// The same for scripts: {"version", "can_run_on_cpu", "checks": [{"id", "state", ...}]}.
std::string report_json(const Findings& findings, const Checks& checklist);

}  // namespace myxtts
