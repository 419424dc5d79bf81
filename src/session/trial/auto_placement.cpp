// SPDX-License-Identifier: Apache-2.0
#include "session/trial/auto_placement.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/atomic_file.h"
#include "base/checksum.h"
#include "base/child_process.h"
#include "base/error.h"
#include "base/files.h"
#include "base/interruption.h"
#include "base/log.h"
#include "base/process.h"
#include "config/effective_config.h"
#include "config/run_config.h"
#include "data/corpus.h"
#include "device/machine.h"
#include "diagnose/auto/choice_file.h"
#include "diagnose/auto/placement.h"
#include "run/model_folder.h"
#include "session/console.h"
#include "session/starting_model.h"
#include "text/vocabulary.h"

namespace myxtts {
namespace {

namespace fs = std::filesystem;

Vocabulary vocabulary_for(RunConfig& config, const fs::path& scratch) {
  TrainConfig& train = config.train;
  if (train.init) return Vocabulary::load(*train.init / files::kVocabulary);
  const std::string json = vocabulary_of_new_model(config);
  train.vocab = scratch / files::kVocabulary;
  write_file_atomically(*train.vocab, bytes_of(json));
  return Vocabulary::parse(json, "the new vocabulary");
}

}  // namespace

double RunOutline::first_epoch_share(const DevicePlan& plan) const {
  const TrainConfig& train = settings.values.train;
  const auto clips_a_step = static_cast<double>(plan.batch_size * plan.grad_accum);
  const double epoch = std::max(1.0, static_cast<double>(visits) / clips_a_step);
  const double all = static_cast<double>(train.epochs) * epoch;
  const double steps = std::min(all, static_cast<double>(train.max_steps.value_or(INT64_MAX)));
  return std::min(1.0, epoch / steps);
}

RunOutline outline_run(EffectiveConfig settings, const std::optional<fs::path>& model,
                       const fs::path& scratch, const fs::path& indexes) {
  RunOutline outline{.settings = std::move(settings)};
  RunConfig& config = outline.settings.values;
  if (model) {
    config.train.init = model;
    config.train.vocab.reset();
  }
  const Vocabulary vocabulary = vocabulary_for(config, scratch);
  const Corpus corpus = Corpus::open(config.data, vocabulary, indexes);
  outline.corpus = fmt::format("{:016x}", corpus.fingerprint());
  for (const VisitGroup& group : corpus.training_groups()) outline.visits += group.visits;
  return outline;
}

namespace {

using namespace std::chrono_literals;

constexpr std::size_t kLargestOutput = 64 << 20;
constexpr std::int64_t kFewestWarmUp = 3;  // steps
constexpr std::int64_t kRankWarmUp = 16;   // steps that use up what was decoded ahead of time
constexpr std::int64_t kEndlessEpochs = 1'000'000;  // as many as the settings allow
constexpr const char* kSettings = "settings.yaml";
constexpr const char* kReading = "reading.json";
constexpr const char* kOutput = "output.txt";
constexpr const char* kRun = "run";

int finish(ChildProcess& process, const Interruption& interruption) {
  bool asked = false;
  for (;;) {
    if (const auto code = process.wait_for(200ms)) return *code;
    if (asked || !interruption.came()) continue;
    process.send(SIGTERM);
    asked = true;
  }
}

// What the process said last, which is its complaint where it failed.
std::string last_line(const std::string& output) {
  std::istringstream lines(output);
  std::string last;
  for (std::string line; std::getline(lines, line);) {
    if (!line.empty()) last = line;
  }
  constexpr std::string_view kPrefix = "myxtts: ";
  return last.starts_with(kPrefix) ? last.substr(kPrefix.size()) : last;
}

// The same steps in one process.
RunConfig without_ranks(RunConfig config) {
  config.train.batch_size = *config.train.batch_size * *config.parallel.ranks;
  config.parallel.ranks.reset();
  return config;
}

// A run of so many steps that does nothing but train, and logs every `every` of them.
RunConfig short_run(RunConfig config, std::int64_t steps, std::int64_t every) {
  config.data.val_data.clear();
  config.data.val_fraction = 0;
  config.train.hand_on = HandOn::Latest;
  config.train.epochs = kEndlessEpochs;
  config.train.max_steps = steps;
  config.train.max_minutes.reset();
  config.train.warmup_steps = 0;
  config.run.log_steps = every;
  return config;
}

// Runs this program with the settings as a file; `folder` is for temporary files. A signal to us
// goes to the process. Throws DataError with what it complained of, also when a signal ended it.
void run_program(const fs::path& folder, const RunConfig& config,
                 const std::vector<std::string>& words, const Interruption& interruption) {
  write_file_atomically(folder / kSettings, bytes_of(print_differences(config)));
  std::vector<std::string> command{own_program()};
  command.insert(command.end(), words.begin(), words.end());
  command.insert(command.end(), {"--quiet", "--config", (folder / kSettings).string()});
  ChildProcess process(command, (folder / kOutput).string());
  const int code = finish(process, interruption);
  if (interruption.came()) throw DataError("interrupted");
  if (code == 0) return;
  const std::string said = last_line(read_text_file(folder / kOutput, "output", kLargestOutput));
  throw DataError(said.empty() ? fmt::format("the measurement ended with code {}", code) : said);
}

// Measures settings by starting `myxtts profile` with them, so that each has its own visible
// devices, contexts, threads and memory, and leaves nothing behind. Throws as run_program() does.
PlacementReading measure_alone(const fs::path& folder, const RunConfig& config, std::int64_t steps,
                               const Interruption& interruption) {
  const std::int64_t warm_up = std::max<std::int64_t>(kFewestWarmUp, steps / 4);
  fs::remove(folder / kReading);
  run_program(
      folder, config,
      {"profile", "--num-steps", std::to_string(steps), "--warm-up-steps", std::to_string(warm_up),
       "--resident-steps", "0", "--json", (folder / kReading).string()},
      interruption);
  return reading_from_json(read_text_file(folder / kReading, "measurement", kLargestOutput));
}

// `profile` looks into one training; ranks are trained by `myxtts train`, for as few steps, into a
// run directory that is thrown away.
PlacementReading measure_ranks(const fs::path& folder, const RunConfig& config, std::int64_t steps,
                               const Interruption& interruption) {
  const std::int64_t rounds = 1 + (kRankWarmUp + steps - 1) / steps;  // the last one counts
  RunConfig trial = short_run(config, rounds * steps, steps);
  trial.run.checkpoint_dir = folder / kRun;
  if (trial.data.cache_dataset) {  // fills the cache
    measure_alone(folder, without_ranks(trial), steps, interruption);
  }
  fs::remove_all(folder / kRun);
  run_program(folder, trial, {"train"}, interruption);
  const std::string metrics =
      read_text_file(folder / kRun / "metrics.jsonl", "measurement", kLargestOutput);
  fs::remove_all(folder / kRun);
  PlacementReading reading = reading_from_metrics(metrics, rounds * steps);
  const auto clips =
      static_cast<double>(*trial.train.batch_size * *trial.parallel.ranks * trial.train.grad_accum);
  reading.step_seconds = clips / reading.clips_per_second;
  return reading;
}

// Measured in each placement, after those that warm it up. Steps on a CPU are longer.
constexpr std::int64_t kGpuSteps = 40;
constexpr std::int64_t kCpuSteps = 24;
// Batches decoded ahead of time would hide how fast clips really come.
constexpr std::int64_t kBuffer = 8;

// What a short training needs of the settings; the run's own files are none of its business.
RunConfig trial_settings(RunConfig config, const PlacementComparison& comparison) {
  const std::int64_t buffer = config.data.pipeline_buffer_size.value_or(kBuffer);
  config.data.pipeline_buffer_size = std::min(buffer, kBuffer);
  const bool named = comparison.settings.origin_of("data.cache_dir").kind != Origin::Kind::Default;
  if (!config.data.cache_dir || (config.data.cache_dataset && !named)) {
    config.data.cache_dir = comparison.cache;
  }
  config.run = RunDirectoryConfig{};
  config.run.checkpoint_dir = comparison.folder / "run";
  return config;
}

void log_placement(const MeasuredPlacement& line) {
  const std::string name = name_of(line.placement);
  if (!line.reading) {
    log_info("auto", "{}: not measured: {}", name, line.reason);
  } else {
    log_info("auto", "{}: {:.1f} clips/s, {:.1f} ms a step", name, line.clips_per_second,
             line.reading->step_seconds * 1000);
  }
}

}  // namespace

std::vector<MeasuredPlacement> compare_placements(const PlacementComparison& comparison,
                                                  const Interruption& interruption) {
  const RunConfig& config = comparison.settings.values;
  const auto placements = possible_placements(config, comparison.machine, comparison.usual);
  const bool on_cpu = !comparison.usual.model.gpu;
  const std::int64_t steps = comparison.steps.value_or(on_cpu ? kCpuSteps : kGpuSteps);
  const auto measure = [&](const Placement& placement) {
    const RunConfig trial = trial_settings(placed(config, placement, comparison.usual), comparison);
    return (trial.parallel.ranks ? measure_ranks : measure_alone)(comparison.folder, trial, steps,
                                                                  interruption);
  };
  const CalibrationSettings settings{.may_cache = comparison.may_cache,
                                     .first_epoch_share = comparison.first_epoch_share,
                                     .noisy = on_cpu,
                                     .stopped = [&interruption] { return interruption.came(); },
                                     .begins =
                                         [steps](const Placement& placement) {
                                           log_info("auto", "measuring {} for {} steps",
                                                    name_of(placement), steps);
                                         },
                                     .ended = log_placement};
  return calibrate(placements, measure, settings);
}

const Placement* fastest_of(const std::vector<MeasuredPlacement>& table, const DevicePlan& usual) {
  const auto* best = fastest(table, usual.model.gpu ? kGpuTie : kCpuTie);
  return best == nullptr ? nullptr : &best->placement;
}

namespace {

// RUN/calibration while placements are measured.
class CalibrationFolder {
 public:
  explicit CalibrationFolder(const RunDirectory& run) : path_(run / "calibration") {
    fs::remove_all(path_);
    fs::create_directories(path_);
  }
  CalibrationFolder(const CalibrationFolder&) = delete;
  CalibrationFolder& operator=(const CalibrationFolder&) = delete;
  ~CalibrationFolder() {
    std::error_code ignored;  // it is in nobody's way
    fs::remove_all(path_, ignored);
  }
  const fs::path& path() const { return path_; }

 private:
  const fs::path path_;
};

std::set<fs::path> features_in(const fs::path& folder) {
  std::set<fs::path> found;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().filename().string().starts_with("features-")) found.insert(entry.path());
  }
  return found;
}

EffectiveConfig with_placement(EffectiveConfig settings, const Placement& placement,
                               const DevicePlan& usual) {
  settings.values = placed(settings.values, placement, usual);
  return settings;
}

// Whether the choice of an earlier start of this run still holds; else why not is said.
bool still_holds(const std::optional<AutoChoice>& kept, const AutoConditions& now) {
  if (!kept) return false;
  if (const std::string change = what_changed(kept->conditions, now); !change.empty()) {
    log_info("auto", "placements are measured again, as something has changed: {}", change);
    return false;
  }
  log_info("auto", "{} was the fastest when it was measured for this run, and nothing has changed",
           name_of(kept->placement));
  return true;
}

void forget_features(const fs::path& folder, const std::set<fs::path>& before) {
  for (const fs::path& features : features_in(folder)) {
    if (!before.contains(features)) fs::remove_all(features);
  }
}

}  // namespace

std::optional<EffectiveConfig> fastest_placement(const EffectiveConfig& settings,
                                                 const DevicePlan& usual, const RunDirectory& run,
                                                 const std::optional<Checkpoint>& resumed,
                                                 const Interruption& interruption) {
  const CalibrationFolder folder(run);
  const RunOutline outline = outline_run(
      settings, resumed ? std::optional(resumed->folder) : std::nullopt, folder.path(), run.path());
  SystemProbe probe;
  const Machine machine = discover_machine(probe);
  const AutoConditions conditions = auto_conditions(settings.values, machine, outline.corpus);
  const auto kept = read_choice(run.path());
  if (still_holds(kept, conditions)) return with_placement(settings, kept->placement, usual);
  const auto before = kept ? std::optional(kept->placement) : std::nullopt;

  const auto features_before = features_in(run.path());
  const std::vector<MeasuredPlacement> table =
      compare_placements({.settings = outline.settings,
                          .machine = machine,
                          .usual = usual,
                          .folder = folder.path(),
                          .cache = run.path(),
                          .first_epoch_share = outline.first_epoch_share(usual),
                          .may_cache = may_cache(settings, before)},
                         interruption);
  const Placement* const best = fastest_of(table, usual);
  if (best == nullptr || !best->cached || interruption.came()) {
    forget_features(run.path(), features_before);
  }
  if (interruption.came()) {
    log_info("train", "interrupted while placements were measured");
    return std::nullopt;
  }
  print(describe(table, best));
  if (best == nullptr) {
    throw DeviceError(
        "No placement could be measured, for the reasons in the table; name one to see it fail by "
        "itself, as in --mode single or --device cpu.");
  }
  write_choice({.conditions = conditions, .table = table, .placement = *best}, run.path());
  return with_placement(settings, *best, usual);
}

}  // namespace myxtts
