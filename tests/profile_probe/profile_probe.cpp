// SPDX-License-Identifier: Apache-2.0

// Plants bottlenecks in real trainings, lets the verdict name them, turns the knob that it names
// and compares what that gains with what was predicted.
//
//   profile_probe [--corpus DIR] [--runs N] [--steps N] [--seed N] [--faults A,B+C,...] [KEY=VALUE
//   ...]
//
// A fault is one of support/planted_fault.h, two of them joined by a plus sign, or "healthy".

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "base/random.h"
#include "base/scratch_folder.h"
#include "data/generated_corpus.h"
#include "diagnose/profile/profile_text.h"
#include "support/trial_bench.h"

namespace myxtts::test {
namespace {

struct Arguments {
  std::string corpus;
  std::int64_t clips = 48;
  int runs = 3;
  std::int64_t steps = 40;
  std::uint64_t seed = 1;
  std::vector<std::string> faults = fault_names();
  std::vector<std::string> settings;
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

// What was planted, what was said, and what turning the knob gave.
struct Row {
  std::string planted;
  std::vector<PlantedFault> faults = {};
  Profile before = {};
  std::optional<Profile> after = {};
};

const PlantedFault* largest(const std::vector<PlantedFault>& faults) {
  const PlantedFault* found = nullptr;
  for (const PlantedFault& fault : faults) {
    if (found == nullptr || fault.seconds > found->seconds) found = &fault;
  }
  return found;
}

bool print_row(const Row& row) {
  const Finding& said = row.before.findings.front();
  const PlantedFault* worst = largest(row.faults);
  const Cause expected = worst == nullptr ? Cause::ModelBound : worst->expected;
  const bool right = said.cause == expected;
  std::string text = fmt::format("{:<32} {:<5} {:<18} step {:7.1f} ms  cost {:3.0f} %", row.planted,
                                 right ? "right" : "WRONG", name_of(said.cause),
                                 1000 * row.before.steps.mean, 100 * said.cost_share);
  if (row.after) {
    const double error = row.after->clips_per_second / said.predicted_clips_per_second - 1;
    text +=
        fmt::format("  {:<22} predicted {:6.2f} clips/s, measured {:6.2f} ({:+.0f} %){}",
                    said.knob->flag, said.predicted_clips_per_second, row.after->clips_per_second,
                    100 * error, std::abs(error) > 0.15 ? "  OFF" : "");
  }
  fmt::print("{}\n", text);
  std::fflush(stdout);
  return right;
}

Row measure(const TrialBench& bench, const Arguments& arguments, const std::string& name,
            std::uint64_t seed) {
  const RandomStream strengths(seed, "strengths");
  TrialSettings trial{.warm_up = 8, .steps = arguments.steps, .resident = 12};
  const Healthy healthy = healthy_of(bench.run({.warm_up = 4, .steps = 12, .resident = 0}));
  Row row{.planted = name};
  std::uint64_t draw = 0;
  if (name != "healthy") {
    for (const std::string& part : parts_of(name, '+')) {
      // Of a pair, one is clearly the larger.
      const double strength =
          draw == 0 ? 1.5 + 2 * strengths.uniform(draw) : (1.5 + 2 * strengths.uniform(0)) * 1.6;
      ++draw;
      row.faults.push_back(make_fault(part, strength, healthy));
    }
  }
  plant(row.faults, healthy, seed, trial);
  row.before = bench.run(trial);
  if (arguments.verbose) fmt::print("{}\n", describe(row.before));
  const auto& knob = row.before.findings.front().knob;
  if (knob) row.after = bench.run(trial, {{knob->key, knob->value}});
  return row;
}

int run(const Arguments& arguments) {
  const ScratchFolder folder("probe");
  if (arguments.corpus.empty()) {
    generate_corpus(folder.path(), {.clips = arguments.clips, .shortest = 1.5, .longest = 4});
  }
  const TrialBench bench(
      settings_of(arguments, arguments.corpus.empty() ? folder.path().string() : arguments.corpus));
  int wrong = 0;
  for (const std::string& name : arguments.faults) {
    for (int i = 0; i < arguments.runs; ++i) {
      const auto seed = arguments.seed + static_cast<std::uint64_t>(i);
      wrong += print_row(measure(bench, arguments, name, seed)) ? 0 : 1;
    }
  }
  fmt::print("{} wrong\n", wrong);
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
  app.add_option("--faults", arguments.faults)->delimiter(',');
  app.add_flag("--verbose", arguments.verbose);
  app.add_option("SETTING", arguments.settings);
  CLI11_PARSE(app, count, words);
  return run(arguments);
}
