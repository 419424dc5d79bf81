// SPDX-License-Identifier: Apache-2.0
#include "cli/scaling_flags.h"

#include <CLI/CLI.hpp>

namespace myxtts {
namespace {

constexpr const char* kGroup = "Several ranks";

}  // namespace

void declare_scaling_flags(CLI::App& app, ScalingRequest& request, CLI::Option* recommended) {
  const auto add = [&](CLI::Option* option, const char* type) {
    option->type_name(type)->needs(recommended)->group(kGroup);
    return option;
  };
  add(app.add_option("--hosts", request.hosts, "Predicts the step of so many hosts. [1]"), "N")
      ->check(CLI::Range(1, 4096));
  add(app.add_option("--gpus-per-host", request.gpus_per_host,
                     "With so many GPUs in each. [those of this machine]"),
      "N")
      ->check(CLI::Range(1, 1024));
  add(app.add_option("--link", request.link,
                     "What joins the GPUs of a host: nvlink or pcie. [as found here, else pcie]"),
      "LINK")
      ->transform(CLI::CheckedTransformer(std::map<std::string, HostLink>{
          {"nvlink", HostLink::NvLink}, {"pcie", HostLink::PciExpress}}));
  add(app.add_option("--network", request.network_gbit,
                     "Gbit/s that each host has for the others. [100]"),
      "GBIT")
      ->check(CLI::Range(0.01, 100'000.0));
  add(app.add_option("--step-ms", request.step_ms,
                     "Milliseconds that profile measured for a step of one rank with "
                     "--batch-size clips. [an H200's]"),
      "MS")
      ->check(CLI::Range(0.001, 1e9));
  add(app.add_option("--cluster", request.file,
                     "A JSON file with everything that is known of a cluster, the CPU's too."),
      "FILE");
  add(app.add_option("--wire", request.wire, "In which numbers gradients go: fp32 or bf16. [fp32]"),
      "TYPE")
      ->transform(CLI::CheckedTransformer(
          std::map<std::string, Wire>{{"fp32", Wire::Fp32}, {"bf16", Wire::Bf16}}));
  app.add_flag("--shard-optimiser", request.shard_optimiser,
               "Each rank updates its part of the weights, and all gather them.")
      ->needs(recommended)
      ->group(kGroup);
}

std::vector<ScalingTable> scaling_tables(const RecommendationTable& cards, ScalingRequest request,
                                         const Machine& here) {
  std::vector<ScalingTable> tables;
  const ScalingRequest usual = request;
  const Recommendation& own = cards.rows.front();
  if (!request.batch_size && own.cards > 0 && own.fits) {
    request.batch_size = own.plan.batch_size;
    request.accumulation = own.plan.grad_accum;
  }
  if (const auto facts = asked_cluster(request, here)) {
    tables.push_back(cluster_scaling(cards.model_size, *facts, request));
  }
  tables.push_back(usual_scaling(cards.model_size, usual));
  return tables;
}

}  // namespace myxtts
