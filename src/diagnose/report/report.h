// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace myxtts {

enum class Verdict { Pass, Warn, Fail, Skip };

std::string name_of(Verdict verdict);  // "PASS", "WARN", "FAIL", "SKIP"

// One line of a table of checks: doctor's, validate's, or that of train --dry-run.
struct Check {
  std::string id = {};    // for scripts: "sound", "model.parameters"
  std::string name = {};  // for people: "sound library"
  Verdict verdict = Verdict::Pass;
  std::string found = {};         // what was measured; of a check that failed or was skipped, why
  std::string remedy = {};        // what to do or to type; empty: nothing
  std::string needed_by = {};     // the commands that want it; doctor alone names them
  bool cpu_run_needs_it = false;  // the same
};

Check passed(std::string id, std::string name, std::string found);
Check failed(std::string id, std::string name, std::string reason, std::string remedy = {});
Check skipped(std::string id, std::string name, std::string reason, std::string remedy = {});

using Checks = std::vector<Check>;

bool all_passed(const Checks& checks);  // no check failed

std::string verdict_of(const Check& check);  // "PASS", as name_of() writes it

std::size_t longest_name(const Checks& checks);

// A line for each check, names padded to `name_width`; below those that are not as they should be,
// who needs them and the remedy. `word` is how a verdict is written; none is longer than that of a
// check that failed.
std::string describe(const Checks& checks, std::size_t name_width,
                     std::string (*word)(const Check&) = verdict_of);

using Rows = std::vector<std::vector<std::string>>;  // of cells

// Rows in columns. The layout has, for each column, the blanks before it, the side that its cells
// stand on ('<' left, '>' right) and its width, or none for that of its longest cell: "  <8 >5  <".
// A row with fewer cells ends early, and no row is padded at its end.
std::string table_text(std::string_view layout, const Rows& rows);

}  // namespace myxtts
