// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>

#include "diagnose/scaling/cluster.h"

namespace myxtts {

// A whole step of one rank alone, as it was measured.
struct MeasuredStep {
  std::int64_t batch = 1;  // clips
  double ms = 0;
  double update_ms = 0;                // of it; 0: not known
  std::optional<double> core_ms = {};  // of the host's cores
  std::optional<double> spread = {};   // standard deviation to mean
};

// What a person or a script knows of a cluster.
struct ClusterFacts {
  Cluster cluster = {};
  std::optional<MeasuredStep> step = {};
  std::optional<std::int64_t> parameters = {};  // nothing: those of the model's size
};

// The facts that a JSON file adds to `known`; docs/guides/distributed.md has its keys. Throws
// ConfigError, which names the key, when one is unknown or its value is out of range, DataError
// when the file cannot be read.
ClusterFacts read_cluster_file(const std::filesystem::path& path, const Cluster& known);
ClusterFacts parse_cluster(std::string_view text, const Cluster& known);

}  // namespace myxtts
