// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <memory>
#include <string>

#include <CLI/CLI.hpp>

#include "base/interruption.h"
#include "cli/command.h"
#include "run/import_model.h"

namespace myxtts {
namespace {

struct ImportArguments {
  std::filesystem::path from;
  std::filesystem::path out;
  std::string licence;  // its name; empty: what the folder says
  bool accepts_licence = false;
  bool force = false;
};

int run_import(const ImportArguments& arguments) {
  const Interruption interruption;
  import_model(arguments.from, arguments.out, arguments.force, [&arguments] {
    return accept_licence(arguments.from, arguments.licence, arguments.accepts_licence);
  });
  return 0;
}

}  // namespace

Command import_command() {
  const auto declare = [](CLI::App& app) {
    auto arguments = std::make_shared<ImportArguments>();
    app.add_option("--from", arguments->from,
                   "Folder with model.pth (or a trainer's checkpoint), config.json and vocab.json")
        ->required()
        ->type_name("DIR");
    app.add_option("--out", arguments->out, "The model folder to make")
        ->required()
        ->type_name("DIR");
    app.add_option("--licence", arguments->licence, "What the weights' licence is called");
    app.add_flag("--accept-licence", arguments->accepts_licence,
                 "Accept the licence that comes with the weights");
    app.add_flag("--force", arguments->force, "Replace a model folder that exists");
    return [arguments] { return run_import(*arguments); };
  };
  return {.name = "import",
          .group = "Models",
          .summary = "Turns public XTTS weights or a trainer's checkpoint into a model folder",
          .declare = declare,
          .examples = {"myxtts import --from XTTS-v2 --out models/xtts-v2 --accept-licence"}};
}

}  // namespace myxtts
