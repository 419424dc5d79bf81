// SPDX-License-Identifier: Apache-2.0
#include "diagnose/auto/placement.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "base/message_text.h"
#include "diagnose/report/report.h"

namespace myxtts {

namespace {

// Multiprocessors for data work; nothing is the plan's own choice, half of the card. How many there
// are is not known before a card is opened.
constexpr std::optional<std::int64_t> kSplits[] = {std::nullopt, 16, 32};

constexpr std::int64_t kRanks[] = {2, 4, 8};

std::string split_text(const SplitGpu& split) {
  return split.multiprocessors ? fmt::format("{}:{}", split.gpu, *split.multiprocessors)
                               : fmt::format("{}", split.gpu);
}

std::vector<Placement> on_gpus(const Machine& machine, const DevicePlan& usual) {
  std::vector<Placement> found{{.mode = Mode::Single}};
  const std::int64_t gpu = usual.model.gpu->listed;
  for (const auto& multiprocessors : kSplits) {
    found.push_back({.mode = Mode::Split, .split_gpu = SplitGpu{gpu, multiprocessors}});
  }
  // Of many cards the first two stand for all pairs: cards of one machine are mostly alike.
  if (machine.gpus.gpus.size() < 2) return found;
  found.push_back({.mode = Mode::Dual, .data_gpu = 1, .model_gpu = 0});
  found.push_back({.mode = Mode::Dual, .data_gpu = 0, .model_gpu = 1});
  return found;
}

// The plan's own share first; then less and more for either role, and roles that share cores.
std::vector<Placement> on_cpu(const DevicesConfig& devices, const Machine& machine) {
  const std::int64_t cores = machine.cpu.usable_cores();
  const std::int64_t quarter = std::max<std::int64_t>(1, cores / 4);
  const std::int64_t half = std::max<std::int64_t>(1, cores / 2);
  const auto rest = [cores](std::int64_t taken) {
    return std::max<std::int64_t>(1, cores - taken);
  };
  const std::pair<std::int64_t, std::int64_t> shares[] = {
      {quarter, rest(quarter)}, {1, rest(1)}, {half, rest(half)}, {1, cores}, {cores, cores}};
  std::vector<Placement> found;
  for (const auto& [data, model] : shares) {
    const Placement placement{.mode = Mode::Cpu,
                              .data_threads = devices.data_threads.value_or(data),
                              .model_threads = devices.model_threads.value_or(model)};
    if (std::find(found.begin(), found.end(), placement) == found.end()) found.push_back(placement);
  }
  return found;
}

// Ranks that take the clips of the same steps between them. Threads are theirs to share, so there
// are none where somebody has set threads, nor where a step has no fixed number of clips.
std::vector<Placement> ranks_on_cpu(const RunConfig& config, const Machine& machine,
                                    const DevicePlan& usual) {
  const DevicesConfig& devices = config.devices;
  if (devices.data_threads || devices.model_threads || config.train.batch_tokens) return {};
  const std::int64_t batch = config.train.batch_size.value_or(usual.batch_size);
  std::vector<Placement> found;
  for (const std::int64_t ranks : kRanks) {
    if (ranks > machine.cpu.usable_cores() || batch % ranks != 0) continue;
    found.push_back({.mode = Mode::Cpu, .ranks = ranks, .rank_batch_size = batch / ranks});
  }
  return found;
}

}  // namespace

std::string name_of(const Placement& placement) {
  std::string name = name_of(placement.mode);
  if (placement.split_gpu) name += " " + split_text(*placement.split_gpu);
  if (placement.data_gpu) {
    name += fmt::format(" {} to {}", *placement.data_gpu, *placement.model_gpu);
  }
  if (placement.data_threads) {
    name += fmt::format(" {} + {} threads", *placement.data_threads, *placement.model_threads);
  }
  if (placement.ranks) name += fmt::format(" {} ranks", *placement.ranks);
  return placement.cached ? name + ", cached" : name;
}

std::string flags_of(const Placement& placement) {
  std::string flags = "--mode single";
  if (placement.split_gpu) flags = "--split-gpu " + split_text(*placement.split_gpu);
  if (placement.data_gpu) {
    flags = fmt::format("--data-gpu {} --model-gpu {}", *placement.data_gpu, *placement.model_gpu);
  }
  if (placement.data_threads) {
    flags = fmt::format("--device cpu --data-threads {} --model-threads {}",
                        *placement.data_threads, *placement.model_threads);
  }
  if (placement.ranks) {
    flags = fmt::format("--device cpu --ranks {} --batch-size {}", *placement.ranks,
                        placement.rank_batch_size);
  }
  return placement.cached ? flags + " --cache-dataset" : flags;
}

RunConfig placed(RunConfig config, const Placement& placement, const DevicePlan& usual) {
  config.devices.mode = placement.mode;
  config.devices.split_gpu = placement.split_gpu;
  config.devices.data_threads = placement.data_threads;
  config.devices.model_threads = placement.model_threads;
  config.data.data_gpu = placement.data_gpu;
  config.data.model_gpu = placement.model_gpu;
  config.data.cache_dataset = placement.cached;
  if (!config.train.batch_size && !config.train.batch_tokens) {
    config.train.batch_size = usual.batch_size;
    config.train.grad_accum = usual.grad_accum;
  }
  if (placement.ranks) {
    config.parallel.ranks = *placement.ranks;
    config.train.batch_size = placement.rank_batch_size;
  }
  return config;
}

std::vector<Placement> possible_placements(const RunConfig& config, const Machine& machine,
                                           const DevicePlan& usual) {
  auto found = usual.model.gpu ? on_gpus(machine, usual) : on_cpu(config.devices, machine);
  if (!usual.model.gpu) {
    for (const Placement& ranks : ranks_on_cpu(config, machine, usual)) found.push_back(ranks);
  }
  for (Placement& placement : found) placement.cached = config.data.cache_dataset;
  return found;
}

bool may_cache(const EffectiveConfig& settings, const std::optional<Placement>& chosen) {
  const Origin::Kind origin = settings.origin_of("data.cache_dataset").kind;
  if (origin == Origin::Kind::Default) return true;
  return origin == Origin::Kind::File && !settings.values.data.cache_dataset && chosen &&
         chosen->cached;
}

namespace {

constexpr double kClose = 0.3;       // behind the fastest; measuring again may change the order
constexpr double kCloseCall = 0.03;  // the same, on GPUs that no other program uses

using Lines = std::vector<MeasuredPlacement>;

// What data work has for itself; the rest is the model's. Of a split without a number the plan's
// own share is not known here.
std::int64_t data_share(const Placement& placement) {
  if (placement.split_gpu) {
    return placement.split_gpu->multiprocessors.value_or(std::numeric_limits<std::int64_t>::max());
  }
  return placement.data_threads.value_or(0) - placement.model_threads.value_or(0);
}

// The simplest, and of each mode the fastest and the one that leaves the model most: with a cache
// there is little data work, so the order may be another. What is far behind in the first epoch,
// which is as without a cache, is left out, but for the simplest.
Lines worth_caching(const Lines& table) {
  const MeasuredPlacement* best = fastest(table, 0);
  if (best == nullptr) return {};
  const double enough = best->clips_per_second * (1 - kClose);
  std::map<Mode, std::pair<const MeasuredPlacement*, const MeasuredPlacement*>> of_mode;
  for (const MeasuredPlacement& line : table) {
    if (line.clips_per_second < enough) continue;
    auto& [quickest, leanest] =
        of_mode.try_emplace(line.placement.mode, &line, &line).first->second;
    if (line.clips_per_second > quickest->clips_per_second) quickest = &line;
    if (data_share(line.placement) < data_share(leanest->placement)) leanest = &line;
  }
  Lines found;
  for (const MeasuredPlacement& line : table) {
    const auto mode = of_mode.find(line.placement.mode);
    const bool is_simplest = found.empty() && line.reading;
    const bool is_of_mode =
        mode != of_mode.end() && (mode->second.first == &line || mode->second.second == &line);
    if (is_simplest || is_of_mode) found.push_back(line);
  }
  return found;
}

class Calibration {
 public:
  Calibration(const MeasurePlacement& measure, const CalibrationSettings& settings)
      : measure_(measure), settings_(settings) {}

  std::vector<MeasuredPlacement> run(const std::vector<Placement>& placements) {
    for (const Placement& placement : placements) add(placement);
    if (settings_.noisy) measure_again();
    if (settings_.may_cache) try_cache();
    if (!settings_.noisy) repeat_close_ones();
    return std::move(table_);
  }

 private:
  bool stopped() const { return settings_.stopped && settings_.stopped(); }

  // Nothing, with a reason, where the placement cannot be measured.
  std::optional<PlacementReading> try_to_measure(const Placement& placement, std::string& reason) {
    if (settings_.begins) settings_.begins(placement);
    try {
      return measure_(placement);
    } catch (const Error& error) {
      reason = error.what();
      return std::nullopt;
    }
  }

  void report(const MeasuredPlacement& line) const {
    if (settings_.ended) settings_.ended(line);
  }

  void add(const Placement& placement) {
    if (stopped()) return;
    MeasuredPlacement line{.placement = placement};
    line.reading = try_to_measure(placement, line.reason);
    if (line.reading) line.clips_per_second = line.reading->clips_per_second;
    table_.push_back(line);
    report(line);
  }

  // Other programs only slow a measurement down, so the better of two is closer to the truth.
  void measure_again() {
    const MeasuredPlacement* best = fastest(table_, 0);
    if (best == nullptr) return;
    const double enough = best->clips_per_second * (1 - kClose);
    if (std::count_if(table_.begin(), table_.end(), [&](const MeasuredPlacement& line) {
          return line.clips_per_second >= enough;
        }) < 2) {
      return;
    }
    for (auto line = table_.rbegin(); line != table_.rend() && !stopped(); ++line) {
      if (line->clips_per_second < enough) continue;
      std::string reason;
      const auto second = try_to_measure(line->placement, reason);
      if (!second || second->clips_per_second <= line->clips_per_second) continue;
      line->reading = second;
      line->clips_per_second = second->clips_per_second;
      report(*line);
    }
  }

  // Whether the fastest two differ by more than a tie, but by no more than noise may account for.
  bool is_close_call() const {
    std::vector<double> speeds;
    for (const MeasuredPlacement& line : table_) speeds.push_back(line.clips_per_second);
    std::ranges::sort(speeds, std::greater());
    return speeds.size() > 1 && speeds[1] < speeds[0] * (1 - kGpuTie) &&
           speeds[1] >= speeds[0] * (1 - kCloseCall);
  }

  // Measures those that are so close once more, in the reverse order, so that drift affects them
  // alike. The mean of both measurements counts.
  void repeat_close_ones() {
    if (!is_close_call()) return;
    const double enough = fastest(table_, 0)->clips_per_second * (1 - kCloseCall);
    for (auto line = table_.rbegin(); line != table_.rend() && !stopped(); ++line) {
      if (line->clips_per_second < enough) continue;
      std::string reason;
      const auto second = try_to_measure(line->placement, reason);
      if (!second) continue;
      PlacementReading& reading = *line->reading;
      reading.step_seconds = (reading.step_seconds + second->step_seconds) / 2;
      reading.clips_per_second = (reading.clips_per_second + second->clips_per_second) / 2;
      line->clips_per_second = expected_of(*line);
      report(*line);
    }
  }

  // Over the whole run, of which a cache's first epoch is a part.
  double expected_of(const MeasuredPlacement& line) const {
    if (!line.cold_clips_per_second) return line.reading->clips_per_second;
    const double share = settings_.first_epoch_share;
    return 1 / (share / *line.cold_clips_per_second + (1 - share) / line.reading->clips_per_second);
  }

  void try_cache() {
    for (const MeasuredPlacement& plain : worth_caching(table_)) add_cached(plain);
  }

  // What is measured is a later epoch, where everything is in the cache; in the first one the
  // features are computed as without it, and writing them waits for nothing.
  void add_cached(const MeasuredPlacement& plain) {
    if (stopped()) return;
    MeasuredPlacement line{.placement = plain.placement,
                           .cold_clips_per_second = plain.clips_per_second};
    line.placement.cached = true;
    line.reading = try_to_measure(line.placement, line.reason);
    if (line.reading) line.clips_per_second = expected_of(line);
    table_.push_back(line);
    report(line);
  }

  const MeasurePlacement& measure_;
  const CalibrationSettings& settings_;
  std::vector<MeasuredPlacement> table_;
};

using Cells = std::vector<std::string>;

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
  const auto size_of = [](std::int64_t bytes) { return bytes > 0 ? human_size(bytes) : "-"; };
  Cells cells{name,
              fmt::format("{:.1f}", line.clips_per_second),
              fmt::format("{:.1f}", reading.step_seconds * 1000),
              fmt::format("{:.1f} %", reading.ready_share * 100),
              size_of(reading.data_bytes),
              size_of(reading.model_bytes)};
  if (const std::string remark = remark_on(line, mark); !remark.empty()) cells.push_back(remark);
  return cells;
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
Rows absent_lines(const std::vector<MeasuredPlacement>& table) {
  Rows lines;
  if (!has_mode(table, Mode::Dual)) {
    lines.push_back({"dual", "-", "-", "-", "-", "-", "not measured: it needs two GPUs"});
  }
  if (const std::string reason = why_no_ranks(table); !reason.empty()) {
    lines.push_back({"parallel", "-", "-", "-", "-", "-", reason});
  }
  return lines;
}

}  // namespace

std::vector<MeasuredPlacement> calibrate(const std::vector<Placement>& placements,
                                         const MeasurePlacement& measure,
                                         const CalibrationSettings& settings) {
  return Calibration(measure, settings).run(placements);
}

const MeasuredPlacement* fastest(const std::vector<MeasuredPlacement>& table, double tie) {
  double best = 0;
  for (const MeasuredPlacement& line : table) best = std::max(best, line.clips_per_second);
  for (const MeasuredPlacement& line : table) {
    if (line.clips_per_second > 0 && line.clips_per_second >= best * (1 - tie)) return &line;
  }
  return nullptr;
}

std::string describe(const std::vector<MeasuredPlacement>& table, const Placement* chosen,
                     const std::string& mark) {
  Rows lines{{"placement", "clips/s", "step ms", "ready", "data", "model"}};
  for (const MeasuredPlacement& line : table) {
    const bool is_chosen = chosen != nullptr && line.placement == *chosen;
    lines.push_back(cells_of(line, is_chosen ? mark : ""));
  }
  for (Cells& cells : absent_lines(table)) lines.push_back(std::move(cells));
  return "Placements\n" + table_text("  <  >  >  >  >  >  <", lines);
}

}  // namespace myxtts
