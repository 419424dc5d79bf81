// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "support/program.h"
#include "support/temporary_folder.h"

namespace myxtts::test {

using Words = std::vector<std::string>;

// A corpus of tones and a place for runs that train on it with `tiny` on the CPU, from nothing.
class TrainingBench : public testing::Test {
 protected:
  explicit TrainingBench(int clips = 16);

  std::filesystem::path path(const std::string& name) const { return folder_ / name; }

  // The command line of a run into the folder `run`; `more` wins over what is usual.
  Words command(const std::string& run, const Words& more = {}) const;

  ProgramResult train(const std::string& run, const Words& more = {}) const {
    return run_program(command(run, more));
  }
  // The same, and it must end well.
  ProgramResult trained(const std::string& run, const Words& more = {}) const;

  // The lines of metrics.jsonl of one event.
  std::vector<nlohmann::json> metrics(const std::string& run, const std::string& event) const;
  // One number of each of them.
  std::vector<double> curve(const std::string& run, const std::string& name,
                            const std::string& event = "train") const;

  // A file of the newest checkpoint.
  std::string latest(const std::string& run, const std::string& file) const;
  std::vector<std::string> checkpoints(const std::string& run) const;

 private:
  TemporaryFolder folder_;
};

bool has(const std::string& text, const std::string& words);

}  // namespace myxtts::test
