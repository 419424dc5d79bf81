// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "diagnose/doctor/findings.h"

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

}  // namespace myxtts
