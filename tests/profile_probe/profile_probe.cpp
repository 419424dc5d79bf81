// SPDX-License-Identifier: Apache-2.0

// Plants bottlenecks in real trainings, lets the verdict name them, turns the knob that it names
// and compares what that gains with what was predicted. benchmarks/check_profile.py runs the whole
// table with it.
//
//   profile_probe [--corpus DIR] [--runs N] [--steps N] [--seed N] [--faults A,B+C,...]
//                 [--seconds N] [--json] [KEY=VALUE ...]
//
// A fault is one of support/planted_fault.h, two of them joined by a plus sign (the second is the
// larger), "pair" (two that are drawn), "launch" (no graphs, on a GPU) or "healthy". "A@7" draws
// with the seed 7 whatever --seed says.

#include <chrono>
#include <cmath>
#include <cstdio>

#include <nlohmann/json.hpp>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "base/files.h"
#include "base/random.h"
#include "data/generated_corpus.h"
#include "diagnose/profile/profile.h"
#include "support/trial_bench.h"

namespace myxtts::test {
namespace {

struct Arguments {
  std::string corpus;
  std::string long_clips;  // for padding; empty: those of the corpus
  std::int64_t clips = 48;
  int runs = 3;
  std::int64_t steps = 40;
  std::uint64_t seed = 1;
  std::vector<std::string> faults = fault_names();
  std::vector<std::string> settings;
  double seconds = 1e9;  // begin no row after so many
  bool json = false;     // a line for each row
  bool verbose = false;
};

std::vector<std::string> parts_of(const std::string& text, char at) {
  std::vector<std::string> parts;
  std::size_t from = 0;
  for (std::size_t to = 0; to != std::string::npos; from = to + 1) {
    to = text.find(at, from);
    parts.push_back(text.substr(from, to == std::string::npos ? to : to - from));
  }
  return parts;
}

Settings settings_of(const Arguments& arguments, const std::string& corpus) {
  Settings settings{{"data.train_data", corpus},  {"data.val_fraction", "0"},
                    {"data.num_workers", "2"},    {"data.pipeline_buffer_size", "4"},
                    {"train.model_size", "tiny"}, {"train.batch_size", "2"}};
  for (const std::string& setting : arguments.settings) {
    const auto equals = setting.find('=');
    settings.emplace_back(setting.substr(0, equals), setting.substr(equals + 1));
  }
  return settings;
}

// What was planted, what was said, and what turning the knob gave. A machine's pace drifts between
// trainings, so what is predicted is the mean of one training before the knob is turned and one
// after it was turned back.
struct Row {
  std::string kind;  // as in --faults
  std::string planted = {};
  double strength = 0;  // of the larger fault
  Cause expected = Cause::ModelBound;
  Profile before = {};
  std::optional<Profile> after = {};  // with the knob turned
  std::optional<Profile> again = {};  // and turned back

  const Finding& said() const { return before.findings.front(); }
  bool right() const {
    const bool still = !again || again->findings.front().cause == expected;
    return said().cause == expected && still;
  }
  double predicted() const {
    const double first = said().predicted_clips_per_second;
    return again ? (first + again->findings.front().predicted_clips_per_second) / 2 : first;
  }
  double error() const { return after ? after->clips_per_second / predicted() - 1 : 0.0; }
};

constexpr double kMostError = 0.15;

nlohmann::json json_of(const Row& row) {
  nlohmann::json json{{"kind", row.kind},
                      {"device", row.before.setup.plan.model.gpu ? "cuda" : "cpu"},
                      {"planted", row.planted},
                      {"strength", row.strength},
                      {"padding_share", row.before.padding_share},
                      {"expected", name_of(row.expected)},
                      {"verdict", name_of(row.said().cause)},
                      {"right", row.right()},
                      {"step_ms", 1000 * row.before.steps.mean},
                      {"ceiling_ms", 1000 * row.before.ceiling_seconds.value_or(0)},
                      {"waited_share", row.before.waited_share},
                      {"cost_share", row.said().cost_share},
                      {"clips_per_second", row.before.clips_per_second}};
  json["before"] = nlohmann::json::parse(to_json(row.before));
  if (!row.after) return json;
  json["after"] = nlohmann::json::parse(to_json(*row.after));
  json["knob"] = row.said().knob->flag;
  json["again"] = nlohmann::json::parse(to_json(*row.again));
  json["predicted"] = row.predicted();
  json["measured"] = row.after->clips_per_second;
  json["error"] = row.error();
  return json;
}

std::string text_of(const Row& row) {
  const Finding& said = row.said();
  std::string text = fmt::format("{:<40} {:<5} {:<18} step {:7.1f} ms  cost {:3.0f} %", row.planted,
                                 row.right() ? "right" : "WRONG", name_of(said.cause),
                                 1000 * row.before.steps.mean, 100 * said.cost_share);
  if (!row.after) return text;
  return text + fmt::format("  {:<22} predicted {:6.2f} clips/s, measured {:6.2f} ({:+.0f} %){}",
                            said.knob->flag, row.predicted(), row.after->clips_per_second,
                            100 * row.error(), std::abs(row.error()) > kMostError ? "  OFF" : "");
}

// Two that differ in their cause, the second the larger.
std::string drawn_pair(std::uint64_t seed) {
  const std::vector<std::string> first{"slow reader", "slow disk"};
  const std::vector<std::string> others{"slow decoder", "heavy features", "slow transfer",
                                        "big model"};
  const RandomStream draw(seed, "pair");
  auto order = draw.permutation(others.size() + 1);
  const auto name = [&](std::uint64_t number) {
    return number < others.size() ? others[number] : first[draw.bits(1000) % first.size()];
  };
  return name(order[0]) + "+" + name(order[1]);
}

std::vector<PlantedFault> faults_of(const std::string& name, std::uint64_t seed,
                                    const Healthy& healthy) {
  std::vector<PlantedFault> faults;
  if (name == "healthy" || name == "launch") return faults;
  double strength = 1.5 + 2 * RandomStream(seed, "strengths " + name).uniform(0);
  for (const std::string& part : parts_of(name, '+')) {
    faults.push_back(make_fault(part, strength, healthy));
    strength *= 1.6;  // of a pair, one is clearly the larger
  }
  return faults;
}

// What a kind needs besides waits. Features that are computed on the model's own card cost its time
// and are named for it, so there a healthy training has its codes, and one that only its padding is
// to hold up.
Settings settings_for(const std::string& kind, bool on_gpu, std::uint64_t seed) {
  Settings settings{{"train.seed", std::to_string(seed)}};
  if (kind == "launch") settings.emplace_back("train.enable_static_shapes", "false");
  const bool needs_its_codes = kind == "healthy" || kind == "bad padding";
  if (on_gpu && needs_its_codes) settings.emplace_back("data.cache_dataset", "true");
  return settings;
}

// Tokens are what padding costs, and long clips have more of them to a prompt; on the CPU one such
// clip is a step that is long enough.
Settings settings_to_pad(const Arguments& arguments, bool on_gpu) {
  Settings settings;
  if (!arguments.long_clips.empty()) settings = {{"data.train_data", arguments.long_clips}};
  if (!on_gpu) settings.emplace_back("train.batch_size", "1");
  return settings;
}

class Probe {
 public:
  Probe(const TrialBench& bench, const Arguments& arguments)
      : bench_(bench), arguments_(arguments) {
    const Profile profile = bench.run({.warm_up = 6, .steps = 20, .resident = 0});
    healthy_ = healthy_of(profile);
    on_gpu_ = profile.setup.plan.model.gpu.has_value();
  }

  Row measure(const std::string& kind, std::uint64_t seed) const {
    const std::string name = kind == "pair" ? drawn_pair(seed) : kind;
    Settings settings = settings_for(kind, on_gpu_, seed);
    Healthy healthy = healthy_;
    if (name == "bad padding") {
      const Settings more = settings_to_pad(arguments_, on_gpu_);
      settings.insert(settings.end(), more.begin(), more.end());
      healthy = healthy_of(bench_.run({.warm_up = 2, .steps = 10, .resident = 0}, settings));
    }
    const auto faults = faults_of(name, seed, healthy);
    TrialSettings trial{.warm_up = 6, .steps = arguments_.steps, .resident = 12};
    if (name == "jittery storage") trial.steps *= 3;  // a few stalls have to happen
    plant(faults, healthy, seed, trial);
    Row row{.kind = kind, .planted = name};
    if (name == "launch") row.expected = Cause::Launch;
    if (!faults.empty()) row.expected = faults.back().expected;
    if (!faults.empty()) row.strength = faults.back().strength;
    row.before = bench_.run(trial, settings);
    if (arguments_.verbose) fmt::print("{}\n", describe(row.before));
    const auto& knob = row.said().knob;
    if (!knob || kind == "pair" || kind == "healthy") return row;
    Settings turned = settings;
    turned.emplace_back(knob->key, knob->value);
    TrialSettings without_ceiling = trial;
    without_ceiling.resident = 0;
    row.after = bench_.run(without_ceiling, turned);
    row.again = bench_.run(trial, settings);
    return row;
  }

 private:
  const TrialBench& bench_;
  const Arguments& arguments_;
  Healthy healthy_ = {};
  bool on_gpu_ = false;
};

void generate_clips(const std::filesystem::path& folder, Arguments& arguments) {
  arguments.corpus = (folder / "short").string();
  arguments.long_clips = (folder / "long").string();
  generate_corpus(arguments.corpus, arguments.clips, 1, 3);
  generate_corpus(arguments.long_clips, arguments.clips, 5, 10);
}

int run(Arguments arguments) {
  const ScratchFolder folder("probe");
  if (arguments.corpus.empty()) generate_clips(folder.path(), arguments);
  const TrialBench bench(settings_of(arguments, arguments.corpus));
  const auto began = std::chrono::steady_clock::now();
  const Probe probe(bench, arguments);
  int wrong = 0;
  for (int i = 0; i < arguments.runs; ++i) {
    for (const std::string& kind : arguments.faults) {
      const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - began;
      if (passed.count() > arguments.seconds) continue;
      const auto parts = parts_of(kind, '@');
      const std::uint64_t first = parts.size() > 1 ? std::stoull(parts[1]) : arguments.seed;
      const Row row = probe.measure(parts[0], first + static_cast<std::uint64_t>(i));
      wrong += row.right() && std::abs(row.error()) <= kMostError ? 0 : 1;
      fmt::print("{}\n", arguments.json ? json_of(row).dump() : text_of(row));
      std::fflush(stdout);
    }
  }
  return wrong == 0 ? 0 : 1;
}

}  // namespace
}  // namespace myxtts::test

int main(int count, char** words) {
  using namespace myxtts::test;
  Arguments arguments;
  CLI::App app;
  app.add_option("--corpus", arguments.corpus);
  app.add_option("--clips", arguments.clips);
  app.add_option("--runs", arguments.runs);
  app.add_option("--steps", arguments.steps);
  app.add_option("--seed", arguments.seed);
  app.add_option_function<std::string>(
      "--faults", [&](const std::string& names) { arguments.faults = parts_of(names, ','); });
  app.add_option("--seconds", arguments.seconds);
  app.add_flag("--json", arguments.json);
  app.add_flag("--verbose", arguments.verbose);
  app.add_option("SETTING", arguments.settings);
  CLI11_PARSE(app, count, words);
  return run(arguments);
}
