// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "device/machine.h"

namespace myxtts {

// A link between ranks, with the bandwidth that a collective operation gets from it: not the
// advertised one.
struct RankLink {
  std::string name = {};
  double gigabytes_per_second = 0;  // each way; 10^9 bytes
  double latency_us = 0;            // of one hop
  double core_ms_per_gigabyte = 0;  // that a rank sends; 0: a card sends them
  bool measured = false;            // else assumed

  friend bool operator==(const RankLink&, const RankLink&) = default;
};

// The usual links of NVIDIA's cards. Three quarters of the advertised bandwidth for NVLink, half
// for PCI Express 4.0 x16, four fifths for a network.
RankLink nvlink(int links);  // as nvidia-smi counts them: NV18 has 18
RankLink pci_express();
RankLink network(double gigabits_per_second);  // of a host, not of a card

// A whole step of one rank alone, as it was measured.
struct MeasuredStep {
  std::int64_t batch = 1;  // clips
  double ms = 0;
  double update_ms = 0;                // of it; 0: not known
  std::optional<double> core_ms = {};  // of the host's cores
  std::optional<double> spread = {};   // standard deviation to mean

  friend bool operator==(const MeasuredStep&, const MeasuredStep&) = default;
};

// Hosts that are alike, and what joins their ranks.
struct Cluster {
  int hosts = 1;
  int ranks_per_host = 1;  // GPUs, or processes on the CPU
  RankLink inside = {};
  RankLink between = {};
  // Sums are made inside each host first, as NCCL does. Gloo's one ring goes through every rank.
  bool hierarchical = true;

  double cores = 1;  // of a host
  // How much longer a core takes for the same work when all are busy: memory, caches, clocks.
  double crowding = 1;
  bool model_on_cores = false;  // ranks train on the CPU

  std::optional<MeasuredStep> step = {};        // nothing: none was measured
  std::optional<std::int64_t> parameters = {};  // nothing: those of the model's size

  int ranks() const { return hosts * ranks_per_host; }

  friend bool operator==(const Cluster&, const Cluster&) = default;
};

// The GPUs of this machine, by the slowest link between two of them; its cores.
Cluster cluster_of(const Machine& machine);

// The same with so many ranks, hosts filled one after the other. A last host that is not full
// counts as full hosts of which there are fewer ranks, so `ranks` must fill them evenly.
Cluster with_ranks(const Cluster& cluster, int ranks);

// `known` with what a JSON file says of it; docs/guides/distributed.md has its keys. Throws
// ConfigError, which names the key, when one is unknown or its value is out of range, DataError
// when the file cannot be read.
Cluster read_cluster_file(const std::filesystem::path& path, const Cluster& known);
Cluster parse_cluster(std::string_view text, const Cluster& known);

}  // namespace myxtts
