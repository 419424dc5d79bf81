// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "base/error.h"
#include "base/interruption.h"
#include "base/log.h"
#include "base/message_text.h"
#include "cli/command.h"
#include "cli/flags.h"
#include "session/console.h"
#include "watch/report_file.h"
#include "watch/run_finder.h"
#include "watch/watch_server.h"

namespace myxtts {
namespace {

struct WatchArguments {
  std::vector<std::filesystem::path> folders = {};
  AccessFlags access = {.listen = {.port = 8021}};
  std::filesystem::path report = {};  // a run; empty: the page is served
};

void check(const WatchArguments& arguments) {
  check_access_flags(arguments.access);
  for (const auto& folder : arguments.folders) {
    if (std::filesystem::is_directory(folder)) continue;
    throw DataError(fmt::format("{} is no folder; name run directories, or folders that hold some.",
                                folder.string()));
  }
}

int write_report(const std::filesystem::path& run) {
  if (!looks_like_a_run(run)) {
    throw DataError(fmt::format(
        "{} is no run directory; name the folder that --checkpoint-dir named.", run.string()));
  }
  ReportFile report(run, MYXTTS_VERSION);
  log_info("watch", "the run is read and its samples are encoded; a long run takes some seconds");
  report.write();
  log_info("watch", "{} is written; it can be opened in a browser and mailed",
           report.path().string());
  return 0;
}

int run_watch(WatchArguments arguments) {
  if (!arguments.report.empty()) return write_report(arguments.report);
  if (arguments.folders.empty()) arguments.folders = {"."};
  check(arguments);
  const Interruption interruption;
  WatchServer server(listen_options(arguments.access), arguments.folders, MYXTTS_VERSION);
  const auto runs = find_runs(arguments.folders);
  log_info("watch", "{} found; more are shown as they begin",
           counted(static_cast<std::int64_t>(runs.size()), "run"));
  log_info("watch", "listening at http://{}:{}/ (Ctrl-C ends it)", arguments.access.listen.host,
           server.port());
  const InterruptionWatch watch([&server] { server.stop(); });
  server.serve();
  log_info("watch", "ended");
  return 0;
}

}  // namespace

Command watch_command() {
  const auto declare = [](CLI::App& app) {
    const auto arguments = std::make_shared<WatchArguments>();
    app.add_option("runs", arguments->folders,
                   "Run directories, or folders of them; those that begin later are shown, too. "
                   "[the working directory]")
        ->type_name("RUNS");
    app.add_option("--report", arguments->report,
                   "Writes RUN/report.html, the page of one run as a file of its own, and ends")
        ->type_name("RUN");
    declare_access_flags(app, arguments->access);
    return [arguments] { return run_watch(*arguments); };
  };
  return {"watch",
          "Training",
          "Shows training runs on a page while they train: curves, samples, pipeline, log",
          declare,
          {"myxtts watch runs", "myxtts watch runs/anna runs/bert --port 9000",
           "myxtts watch --report runs/anna"}};
}

}  // namespace myxtts
