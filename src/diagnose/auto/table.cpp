// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/human.h"
#include "diagnose/auto/calibration.h"

namespace myxtts {
namespace {

constexpr std::size_t kColumns = 7;
using Cells = std::array<std::string, kColumns>;  // all but the last stand in columns

std::string size_of(std::int64_t bytes) {
  return bytes > 0 ? human_size(static_cast<std::uint64_t>(bytes)) : "-";
}

// A cached placement has two speeds; the third is what the run will have on the whole.
std::string remark_on(const MeasuredPlacement& line, const std::string& mark) {
  std::string remark = mark.empty() ? "" : "<- " + mark;
  if (line.cold_clips_per_second && line.reading) {
    remark += fmt::format("{}{:.1f} clips/s in the first epoch, {:.1f} in later ones",
                          remark.empty() ? "" : "; ", *line.cold_clips_per_second,
                          line.reading->clips_per_second);
  }
  return remark;
}

Cells cells_of(const MeasuredPlacement& line, const std::string& mark) {
  const std::string name = name_of(line.placement);
  if (!line.reading) return {name, "-", "-", "-", "-", "-", "not measured: " + line.reason};
  const PlacementReading& reading = *line.reading;
  return {name,
          fmt::format("{:.1f}", line.clips_per_second),
          fmt::format("{:.1f}", reading.step_seconds * 1000),
          fmt::format("{:.1f} %", reading.ready_share * 100),
          size_of(reading.data_bytes),
          size_of(reading.model_bytes),
          remark_on(line, mark)};
}

bool has_mode(const std::vector<MeasuredPlacement>& table, Mode mode) {
  return std::any_of(table.begin(), table.end(),
                     [mode](const auto& line) { return line.placement.mode == mode; });
}

// Why no ranks are in the table; empty: they are.
std::string why_no_ranks(const std::vector<MeasuredPlacement>& table) {
  if (std::ranges::any_of(table, [](const auto& line) { return !!line.placement.ranks; }))
    return {};
  if (has_mode(table, Mode::Cpu)) {
    return "not measured: it needs two cores, a batch that can be divided, and no --data-threads "
           "or --model-threads";
  }
  if (!has_mode(table, Mode::Dual)) return "not measured: it needs two GPUs";
  return "not measured here: myxtts train --gpus all trains on all of them";
}

// What a reader of the table would look for and not find.
std::vector<Cells> absent_lines(const std::vector<MeasuredPlacement>& table) {
  std::vector<Cells> lines;
  if (!has_mode(table, Mode::Dual)) {
    lines.push_back({"dual", "-", "-", "-", "-", "-", "not measured: it needs two GPUs"});
  }
  if (const std::string reason = why_no_ranks(table); !reason.empty()) {
    lines.push_back({"parallel", "-", "-", "-", "-", "-", reason});
  }
  return lines;
}

// Columns are counted in characters of one byte: names and figures have no others.
std::string joined(const Cells& cells, const std::array<std::size_t, kColumns>& widths) {
  std::string text = fmt::format("  {:<{}}", cells[0], widths[0]);
  for (std::size_t i = 1; i + 1 < kColumns; ++i) {
    text += fmt::format("  {:>{}}", cells[i], widths[i]);
  }
  return cells.back().empty() ? text + "\n" : fmt::format("{}  {}\n", text, cells.back());
}

}  // namespace

std::string describe(const std::vector<MeasuredPlacement>& table, const Placement* chosen,
                     const std::string& mark) {
  std::vector<Cells> lines{{"placement", "clips/s", "step ms", "ready", "data", "model", ""}};
  for (const MeasuredPlacement& line : table) {
    const bool is_chosen = chosen != nullptr && line.placement == *chosen;
    lines.push_back(cells_of(line, is_chosen ? mark : ""));
  }
  for (Cells& cells : absent_lines(table)) lines.push_back(std::move(cells));
  std::array<std::size_t, kColumns> widths{};
  for (const Cells& cells : lines) {
    for (std::size_t i = 0; i < kColumns; ++i) widths[i] = std::max(widths[i], cells[i].size());
  }
  std::string text = "Placements\n";
  for (const Cells& cells : lines) text += joined(cells, widths);
  return text;
}

}  // namespace myxtts
