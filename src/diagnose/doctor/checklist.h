// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "diagnose/doctor/measure.h"

namespace myxtts {

enum class CheckState { Ok, Warning, Missing };

std::string name_of(CheckState state);

// One line of doctor's table.
struct Check {
  std::string id;    // for scripts: "sound"
  std::string name;  // for people: "sound library"
  CheckState state = CheckState::Ok;
  std::string found = {};   // what was measured
  std::string needed_by;    // which commands want it
  std::string remedy = {};  // what to type; empty: nothing to do
  bool cpu_run_needs_it = false;
};

// Judges what was found, in the order of the table.
std::vector<Check> make_checklist(const Findings& findings);

// Whether everything is there that a run on the CPU needs.
bool can_run_on_cpu(const std::vector<Check>& checklist);

// Adds the rows that a run on a GPU depends on: driver, CUDA plugin, each GPU, how they are
// connected.
void add_gpu_checks(const Findings& findings, std::vector<Check>& checks);

// What doctor prints: the table, how the GPUs are connected where there are several, and one
// sentence on what can be done with this machine.
std::string report_text(const Findings& findings, const std::vector<Check>& checklist);

// The same for scripts: {"version", "can_run_on_cpu", "checks": [{"id", "state", ...}]}.
std::string report_json(const Findings& findings, const std::vector<Check>& checklist);

}  // namespace myxtts
