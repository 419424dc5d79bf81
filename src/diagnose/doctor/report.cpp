// SPDX-License-Identifier: Apache-2.0
#include "diagnose/doctor/report.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

namespace myxtts {
namespace {

// nvidia-smi's matrix: one row and one column for each GPU.
std::string topology_matrix(const GpuInventory& inventory) {
  const auto path = [&inventory](int one, int other) {
    if (one == other) return std::string("X");
    for (const GpuLink& link : inventory.links) {
      if (link.first == std::min(one, other) && link.second == std::max(one, other)) {
        return short_name(link);
      }
    }
    return std::string("?");
  };
  std::string text = fmt::format("  {:6}", "");
  for (const GpuInfo& gpu : inventory.gpus) text += fmt::format("GPU {:<3}", gpu.index);
  for (const GpuInfo& row : inventory.gpus) {
    text += fmt::format("\n  GPU {:<2}", row.index);
    for (const GpuInfo& column : inventory.gpus) {
      text += fmt::format("{:<7}", path(row.index, column.index));
    }
  }
  std::string trimmed;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '\n') trimmed.erase(trimmed.find_last_not_of(' ') + 1);
    trimmed += text[at];
  }
  trimmed.erase(trimmed.find_last_not_of(' ') + 1);
  return trimmed;
}

std::vector<std::string> missing(const std::vector<Check>& checklist, bool for_cpu) {
  std::vector<std::string> names;
  for (const Check& check : checklist) {
    if (check.state == CheckState::Missing && check.cpu_run_needs_it == for_cpu) {
      names.push_back(check.name);
    }
  }
  return names;
}

std::string verdict(const CudaFacts& cuda, const std::vector<Check>& checklist) {
  const auto for_cpu = missing(checklist, true);
  const auto for_more = missing(checklist, false);
  std::string text = for_cpu.empty()
                         ? "Everything that a run on the CPU needs is here."
                         : fmt::format("Missing for any run: {}.", fmt::join(for_cpu, ", "));
  if (!cuda.working_devices.empty()) {
    text += fmt::format(" Usable GPUs: {}.", fmt::join(cuda.working_devices, ", "));
  }
  if (!for_more.empty()) text += fmt::format(" Not here: {}.", fmt::join(for_more, ", "));
  return text;
}

}  // namespace

std::string report_text(const Findings& findings, const std::vector<Check>& checklist) {
  std::size_t width = 0;
  for (const Check& check : checklist) width = std::max(width, check.name.size());
  std::string text = fmt::format("myxtts {}\n\n", findings.program_version);
  for (const Check& check : checklist) {
    text +=
        fmt::format("  {:<8} {:<{}}  {}\n", name_of(check.state), check.name, width, check.found);
    if (check.state == CheckState::Ok) continue;
    const std::string indent(width + 13, ' ');
    text += fmt::format("{}needed by: {}\n", indent, check.needed_by);
    // An error of a library may end with the remedy already.
    if (check.found.find(check.remedy) == std::string::npos) {
      text += fmt::format("{}{}\n", indent, check.remedy);
    }
  }
  if (findings.machine.gpus.gpus.size() > 1) {
    text += "\n" + topology_matrix(findings.machine.gpus) + "\n";
  }
  return text + "\n" + verdict(findings.cuda, checklist) + "\n";
}

std::string report_json(const Findings& findings, const std::vector<Check>& checklist) {
  nlohmann::ordered_json report;
  report["version"] = findings.program_version;
  report["can_run_on_cpu"] = can_run_on_cpu(checklist);
  report["checks"] = nlohmann::ordered_json::array();
  for (const Check& check : checklist) {
    report["checks"].push_back({{"id", check.id},
                                {"name", check.name},
                                {"state", name_of(check.state)},
                                {"found", check.found},
                                {"needed_by", check.needed_by},
                                {"cpu_run_needs_it", check.cpu_run_needs_it},
                                {"remedy", check.remedy}});
  }
  // Words of libraries and drivers need not be UTF-8.
  return report.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace myxtts
