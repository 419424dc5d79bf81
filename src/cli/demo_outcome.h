// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

namespace myxtts {

// What training made of the codes of a corpus, and what two models would make of them that never
// learnt anything from sequences. Losses are nats for each code.
struct DemoOutcome {
  struct Point {
    std::int64_t step = 0;
    double loss = 0;  // of the codes
  };

  double blind = 0;                    // every code equally likely: the logarithm of their number
  double by_frequency = 0;             // each code as likely as it is frequent: their entropy
  std::vector<Point> training = {};    // of single batches, as metrics.jsonl has them
  std::vector<Point> validation = {};  // of clips that were not trained on
};

// Reads the run's metrics and computes the codes of every clip with the run's own frozen DVAE.
// Shows progress. Throws DataError.
DemoOutcome demo_outcome(const std::filesystem::path& corpus, const std::filesystem::path& run);

// A few lines, with a verdict.
std::string describe(const DemoOutcome& outcome);

}  // namespace myxtts
