// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <memory>
#include <optional>

#include <CLI/CLI.hpp>

#include "base/log.h"
#include "cli/command.h"
#include "cli/report.h"
#include "config/effective_config.h"
#include "device/cuda_plugin.h"
#include "device/system_probe.h"
#include "diagnose/bundle.h"
#include "diagnose/libtorch_facts.h"
#include "diagnose/measure.h"
#include "diagnose/report.h"

namespace myxtts {
namespace {

struct DoctorArguments {
  bool json = false;
  std::optional<std::filesystem::path> bundle;
  std::optional<std::filesystem::path> config;
  std::optional<std::filesystem::path> run_directory;
};

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
  return [arguments] { return run_doctor(*arguments); };
}

}  // namespace

Command doctor_command() {
  return {.name = "doctor",
          .group = "Setting up",
          .summary = "Says what is installed, found and missing here, and what to type next",
          .declare = declare_doctor,
          .examples = {"myxtts doctor", "myxtts doctor --bundle for-help.tar --run runs/mine"}};
}

}  // namespace myxtts
