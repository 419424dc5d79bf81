// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "diagnose/scaling/cluster.h"
#include "diagnose/scaling/step_time.h"

namespace myxtts {

enum class HostLink { NvLink, PciExpress };

// What a person asks of the model, over what this machine shows.
struct ScalingRequest {
  std::optional<int> hosts = {};
  std::optional<int> gpus_per_host = {};
  std::optional<HostLink> link = {};
  std::optional<double> network_gbit = {};
  std::optional<double> step_ms = {};  // of one rank, measured
  std::optional<std::filesystem::path> file = {};
  std::optional<std::int64_t> batch_size = {};  // clips of a rank
  std::int64_t accumulation = 1;
  Wire wire = Wire::Fp32;
  bool shard_optimiser = false;
};

struct ScalingRow {
  std::string links;  // "NVLink (NV18)"
  Cluster cluster;
  StepPrediction step;
  std::optional<std::int64_t> batch_for_90 = {};  // clips of a rank; nothing: no batch is enough
};

// Rows of one training, each with other ranks or links.
struct ScalingTable {
  std::string model_size = {};
  std::string title = {};
  RankTraining training = {};
  std::vector<ScalingRow> rows = {};
};

// The cluster that a request describes, else the GPUs of this machine; nothing where neither is
// more than one rank.
std::optional<Cluster> asked_cluster(const ScalingRequest& request, const Machine& here);

// One rank, two, four ... up to all of the cluster's.
ScalingTable cluster_scaling(const std::string& model_size, const Cluster& cluster,
                             const ScalingRequest& request);

// 2 to 64 H200 on NVLink, on PCIe, one in each host on 100 Gbit/s, and eight in each.
ScalingTable usual_scaling(const std::string& model_size, const ScalingRequest& request);

std::string scaling_text(const ScalingTable& table);
std::string scaling_json(const ScalingTable& table);  // one object

}  // namespace myxtts
