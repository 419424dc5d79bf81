// SPDX-License-Identifier: Apache-2.0
#include "diagnose/report/report.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace myxtts {
namespace {

std::size_t longest_cell(const Rows& rows, std::size_t column) {
  std::size_t longest = 0;
  for (const auto& row : rows) {
    if (column < row.size()) longest = std::max(longest, row[column].size());
  }
  return longest;
}

// Takes the digits that `layout` begins with; 0: none.
std::size_t take_width(std::string_view& layout) {
  std::size_t width = 0;
  for (; !layout.empty() && layout.front() >= '0' && layout.front() <= '9';
       layout.remove_prefix(1)) {
    width = 10 * width + static_cast<std::size_t>(layout.front() - '0');
  }
  return width;
}

}  // namespace

std::string name_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::Pass:
      return "PASS";
    case Verdict::Warn:
      return "WARN";
    case Verdict::Fail:
      return "FAIL";
    case Verdict::Skip:
      return "SKIP";
  }
  return "FAIL";
}

Check passed(std::string id, std::string name, std::string found) {
  return {.id = std::move(id), .name = std::move(name), .found = std::move(found)};
}

Check failed(std::string id, std::string name, std::string reason, std::string remedy) {
  return {.id = std::move(id),
          .name = std::move(name),
          .verdict = Verdict::Fail,
          .found = std::move(reason),
          .remedy = std::move(remedy)};
}

Check skipped(std::string id, std::string name, std::string reason, std::string remedy) {
  Check check = failed(std::move(id), std::move(name), std::move(reason), std::move(remedy));
  check.verdict = Verdict::Skip;
  return check;
}

bool all_passed(const Checks& checks) {
  return std::ranges::count(checks, Verdict::Fail, &Check::verdict) == 0;
}

std::size_t longest_name(const Checks& checks) {
  std::size_t longest = 0;
  for (const Check& check : checks) longest = std::max(longest, check.name.size());
  return longest;
}

std::string verdict_of(const Check& check) {
  return name_of(check.verdict);
}

std::string describe(const Checks& checks, std::size_t name_width,
                     std::string (*word)(const Check&)) {
  const std::size_t word_width = word(failed({}, {}, {})).size();
  const std::string indent(word_width + name_width + 6, ' ');
  std::string text;
  for (const Check& check : checks) {
    text += fmt::format("  {:<{}}  {:<{}}  {}\n", word(check), word_width, check.name, name_width,
                        check.found);
    if (check.verdict != Verdict::Pass && !check.needed_by.empty()) {
      text += fmt::format("{}needed by: {}\n", indent, check.needed_by);
    }
    // An error of a library may end with the remedy already.
    if (check.found.find(check.remedy) == std::string::npos) text += indent + check.remedy + "\n";
  }
  return text;
}

std::string table_text(std::string_view layout, const Rows& rows) {
  std::vector<std::string> lines(rows.size());
  for (std::size_t column = 0; !layout.empty(); ++column) {
    const std::size_t gap = layout.find_first_not_of(' ');
    const bool to_the_right = layout[gap] == '>';
    layout.remove_prefix(gap + 1);
    std::size_t width = take_width(layout);
    if (width == 0) width = longest_cell(rows, column);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (column >= rows[i].size()) continue;
      const std::string& cell = rows[i][column];
      lines[i].append(gap, ' ');
      if (to_the_right) {
        lines[i] += fmt::format("{:>{}}", cell, width);
      } else {
        lines[i] += column + 1 == rows[i].size() ? cell : fmt::format("{:<{}}", cell, width);
      }
    }
  }
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

}  // namespace myxtts
