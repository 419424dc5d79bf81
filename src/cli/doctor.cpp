// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <memory>
#include <optional>

#include <CLI/CLI.hpp>

#include "base/log.h"
#include "cli/command.h"
#include "cli/report.h"
#include "cli/scaling_flags.h"
#include "config/effective_config.h"
#include "config/model.h"
#include "device/cuda_plugin.h"
#include "device/system_probe.h"
#include "diagnose/doctor/bundle.h"
#include "diagnose/doctor/libtorch_facts.h"
#include "diagnose/doctor/measure.h"
#include "diagnose/doctor/report.h"
#include "diagnose/memory/recommend.h"

namespace myxtts {
namespace {

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

int print_recommendations(const DoctorArguments& arguments) {
  SystemProbe probe;
  const Machine here = discover_machine(probe);
  std::vector<RecommendationTable> tables;
  for (const std::string_view size : model_preset_names()) {
    if (arguments.model_size && *arguments.model_size != size) continue;
    RecommendationTable& table =
        tables.emplace_back(recommend(std::string(size), arguments.batch_size, here));
    ScalingRequest request = arguments.ranks;
    request.batch_size = arguments.batch_size;
    table.ranks = scaling_tables(table, request, here);
  }
  if (tables.empty()) model_preset(*arguments.model_size);  // throws, and names the sizes
  print(arguments.json ? recommendation_json(tables) : recommendation_text(tables));
  return 0;
}

void pack(const DoctorArguments& arguments, std::string text, std::string json) {
  BundleContent content{.report_text = std::move(text),
                        .report_json = std::move(json),
                        .run_directory = arguments.run_directory};
  if (arguments.config) {
    content.config = print_config(make_effective_config({.file = arguments.config, .flags = {}}));
  }
  write_bundle(*arguments.bundle, content, Identity::of_this_process());
  log_info("doctor", "wrote {}; look into it before you send it", arguments.bundle->string());
}

int run_doctor(const DoctorArguments& arguments) {
  if (arguments.recommend) return print_recommendations(arguments);
  SystemProbe probe;
  Findings findings = measure(probe, cuda_plugin(), std::filesystem::current_path());
  findings.libtorch = libtorch_facts();
  const std::vector<Check> checklist = make_checklist(findings);

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
      ->check(CLI::Range(1, 4096))
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
