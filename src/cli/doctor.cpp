// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <memory>
#include <optional>

#include <CLI/CLI.hpp>

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/log.h"
#include "base/message_text.h"
#include "cli/command.h"
#include "config/effective_config.h"
#include "config/model.h"
#include "device/cuda_plugin.h"
#include "device/machine.h"
#include "diagnose/doctor/bundle.h"
#include "diagnose/doctor/checklist.h"
#include "diagnose/doctor/measure.h"
#include "diagnose/memory/recommend.h"
#include "diagnose/scaling/scaling_table.h"
#include "session/console.h"

namespace myxtts {
namespace {

constexpr const char* kGroup = "Several ranks";

// Adds the flags that describe a cluster; each needs `recommended`. The request outlives the app.
void declare_scaling_flags(CLI::App& app, ScalingRequest& request, CLI::Option* recommended) {
  const auto add = [&](CLI::Option* option, const char* type) {
    option->type_name(type)->needs(recommended)->group(kGroup);
    return option;
  };
  add(app.add_option("--hosts", request.hosts, "Predicts the step of so many hosts. [1]"), "N")
      ->check(whole_number_in(1, 4096));
  add(app.add_option("--gpus-per-host", request.gpus_per_host,
                     "With so many GPUs in each. [those of this machine]"),
      "N")
      ->check(whole_number_in(1, 1024));
  add(app.add_option("--link", request.link,
                     "What joins the GPUs of a host: nvlink or pcie. [as found here, else pcie]"),
      "nvlink|pcie")
      ->transform(CLI::CheckedTransformer(std::map<std::string, HostLink>{
          {"nvlink", HostLink::NvLink}, {"pcie", HostLink::PciExpress}}));
  add(app.add_option("--network", request.network_gbit,
                     "Gbit/s that each host has for the others. [100]"),
      "GBIT")
      ->check(number_in(0.01, 100'000));
  add(app.add_option("--step-ms", request.step_ms,
                     "Milliseconds that profile measured for a step of one rank with "
                     "--batch-size clips. [an H200's]"),
      "MS")
      ->check(number_in(0.001, 1e9));
  add(app.add_option("--cluster", request.file,
                     "A JSON file with everything that is known of a cluster, the CPU's too."),
      "FILE");
  add(app.add_option("--wire", request.wire, "In which numbers gradients go: fp32 or bf16. [fp32]"),
      "fp32|bf16")
      ->transform(CLI::CheckedTransformer(
          std::map<std::string, Wire>{{"fp32", Wire::Fp32}, {"bf16", Wire::Bf16}}));
  app.add_flag("--shard-optimiser", request.shard_optimiser,
               "Each rank updates its part of the weights, and all gather them.")
      ->needs(recommended)
      ->group(kGroup);
}

// Several ranks of a size: on the cluster that was asked for or is here, and on usual ones. Where
// no batch was asked for, that of this machine's own row is taken.
std::vector<ScalingTable> scaling_tables(const RecommendationTable& cards, ScalingRequest request,
                                         const Machine& here) {
  std::vector<ScalingTable> tables;
  const ScalingRequest usual = request;
  const Recommendation& own = cards.rows.front();
  if (!request.batch_size && own.cards > 0 && own.fits) {
    request.batch_size = own.plan.batch_size;
    request.accumulation = own.plan.grad_accum;
  }
  if (const auto cluster = asked_cluster(request, here)) {
    tables.push_back(cluster_scaling(cards.model_size, *cluster, request));
  }
  tables.push_back(usual_scaling(cards.model_size, usual));
  return tables;
}

struct DoctorArguments {
  bool json = false;
  std::optional<std::filesystem::path> bundle;
  std::optional<std::filesystem::path> config;
  std::optional<std::filesystem::path> run_directory;
  bool recommend = false;
  std::optional<std::string> model_size;  // nothing: each
  std::optional<std::int64_t> batch_size;
  ScalingRequest ranks;
};

// Every card and cluster of every size is more than anybody reads where there is no GPU to begin
// with: then the rows of this machine do, unless more was asked for.
bool wants_own_rows(const DoctorArguments& arguments, const Machine& here) {
  return here.gpus.gpus.empty() && !arguments.model_size && !arguments.json &&
         !asked_cluster(arguments.ranks, here);
}

int print_recommendations(const DoctorArguments& arguments) {
  SystemProbe probe;
  const Machine here = discover_machine(probe);
  const bool own_rows = wants_own_rows(arguments, here);
  std::vector<RecommendationTable> tables;
  for (const std::string_view size : model_preset_names()) {
    if (arguments.model_size && *arguments.model_size != size) continue;
    RecommendationTable& table =
        tables.emplace_back(recommend(std::string(size), arguments.batch_size, here));
    if (own_rows) {
      table.rows.resize(1);
      continue;
    }
    ScalingRequest request = arguments.ranks;
    request.batch_size = arguments.batch_size;
    table.ranks = scaling_tables(table, request, here);
  }
  if (tables.empty()) model_preset(*arguments.model_size);  // throws, and names the sizes
  print(arguments.json ? recommendation_json(tables) : recommendation_text(tables));
  if (own_rows) {
    print(
        "\nThere is no GPU here. For cards of 8 to 141 GB and for several GPUs, name a size: "
        "myxtts doctor --recommend --model-size xtts-v2\n");
  }
  return 0;
}

void pack(const DoctorArguments& arguments, std::string text, std::string json) {
  std::vector<std::pair<std::string, std::string>> texts{{"doctor.txt", std::move(text)},
                                                         {"doctor.json", std::move(json)}};
  if (arguments.config) {
    texts.emplace_back(
        "config.yaml",
        print_config(make_effective_config({.file = arguments.config, .flags = {}})));
  }
  write_bundle(*arguments.bundle, texts, arguments.run_directory, Identity::of_this_process());
  log_info("doctor", "wrote {}; look into it before you send it", arguments.bundle->string());
}

int run_doctor(const DoctorArguments& arguments) {
  if (arguments.recommend) return print_recommendations(arguments);
  if (arguments.bundle && std::filesystem::is_directory(*arguments.bundle)) {
    throw ConfigError(
        fmt::format("--bundle {0} is a folder, and --bundle names the archive to write; type "
                    "'myxtts doctor --bundle for-help.tar --run {0}' to pack that run.",
                    shell_word(arguments.bundle->string())));
  }
  if (arguments.bundle) require_output("--bundle", *arguments.bundle, Output::File);
  SystemProbe probe;
  Findings findings = measure(probe, cuda_plugin(), std::filesystem::current_path());
  findings.libtorch = libtorch_facts();
  const Checks checklist = make_checklist(findings);

  std::string text = report_text(findings, checklist);
  std::string json = report_json(findings, checklist);
  print(arguments.json ? json : text);
  if (arguments.bundle) pack(arguments, std::move(text), std::move(json));
  return can_run_on_cpu(checklist) ? 0 : 1;
}

std::function<int()> declare_doctor(CLI::App& app) {
  const auto arguments = std::make_shared<DoctorArguments>();
  app.add_flag("--json", arguments->json, "Prints the table as JSON.");
  CLI::Option* bundle =
      app.add_option(
             "--bundle", arguments->bundle,
             "Also packs the table for a person helping you, as a tar archive without names "
             "of users, machines and home folders.")
          ->type_name("FILE");
  app.add_option("--config", arguments->config,
                 "Packs the settings of this configuration file into the bundle.")
      ->type_name("FILE")
      ->needs(bundle);
  app.add_option("--run", arguments->run_directory,
                 "Packs log and profile of this run directory into the bundle.")
      ->type_name("DIR")
      ->needs(bundle);
  CLI::Option* recommended =
      app.add_flag(
             "--recommend", arguments->recommend,
             "Prints what to train with on cards of 8 to 141 GB and on this machine: batch, "
             "memory caps and savers by the memory model, each row with its command; and what "
             "several GPUs or hosts would do together.")
          ->excludes(bundle);
  app.add_option("--model-size", arguments->model_size, "Recommends for this size alone.")
      ->type_name("SIZE")
      ->needs(recommended);
  app.add_option("--batch-size", arguments->batch_size,
                 "Recommends what makes batches of so many clips fit.")
      ->type_name("N")
      ->check(whole_number_in(1, 4096))
      ->needs(recommended);
  declare_scaling_flags(app, arguments->ranks, recommended);
  return [arguments] { return run_doctor(*arguments); };
}

}  // namespace

Command doctor_command() {
  return {.name = "doctor",
          .group = "Setting up",
          .summary = "Says what is installed, found and missing here, and what to type next",
          .declare = declare_doctor,
          .examples = {"myxtts doctor", "myxtts doctor --recommend --model-size xtts-v2",
                       "myxtts doctor --recommend --hosts 4 --gpus-per-host 8 --network 200",
                       "myxtts doctor --bundle for-help.tar --run runs/mine"}};
}

}  // namespace myxtts
