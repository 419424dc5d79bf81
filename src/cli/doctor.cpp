// SPDX-License-Identifier: Apache-2.0
#include "cli/doctor.h"

#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>

#include <CLI/CLI.hpp>

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

int run_doctor(const DoctorArguments& arguments) {
  SystemProbe probe;
  Findings findings = measure(probe, cuda_plugin(), std::filesystem::current_path());
  findings.libtorch = libtorch_facts();
  const std::vector<Check> checklist = make_checklist(findings);

  const std::string text = report_text(findings, checklist);
  const std::string json = report_json(findings, checklist);
  std::fputs((arguments.json ? json : text).c_str(), stdout);
  if (arguments.bundle) {
    write_bundle(*arguments.bundle,
                 {.report_text = text,
                  .report_json = json,
                  .config = arguments.config,
                  .run_directory = arguments.run_directory},
                 Identity::of_this_process());
    std::fprintf(stderr, "Wrote %s. Look into it before you send it.\n", arguments.bundle->c_str());
  }
  return can_run_on_cpu(checklist) ? 0 : 1;
}

}  // namespace

Command doctor_command() {
  return {.name = "doctor",
          .group = "Setting up",
          .summary = "What is installed, found and missing here, and what to type next",
          .declare = [](CLI::App& app) -> std::function<int()> {
            auto arguments = std::make_shared<DoctorArguments>();
            app.add_flag("--json", arguments->json, "Print the table as JSON");
            CLI::Option* bundle =
                app.add_option("--bundle", arguments->bundle,
                               "Also pack the table for a person helping you, as a tar archive "
                               "without names of users, machines and home folders")
                    ->type_name("FILE");
            app.add_option("--config", arguments->config,
                           "A configuration file to pack into the bundle")
                ->type_name("FILE")
                ->needs(bundle);
            app.add_option("--run", arguments->run_directory,
                           "A run directory whose log and profile to pack into the bundle")
                ->type_name("DIR")
                ->needs(bundle);
            return [arguments] { return run_doctor(*arguments); };
          }};
}

}  // namespace myxtts
