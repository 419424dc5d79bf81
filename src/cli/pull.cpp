// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "base/error.h"
#include "base/interruption.h"
#include "base/log.h"
#include "base/message_text.h"
#include "cli/command.h"
#include "config/model_json.h"
#include "fetch/download_folder.h"
#include "fetch/http.h"
#include "fetch/model_hub.h"
#include "run/import_model.h"
#include "run/model_folder.h"
#include "session/console.h"
#include "weights/safetensors.h"

namespace myxtts {
namespace {

namespace fs = std::filesystem;

constexpr const char* kUnfinished = ".download";  // of the hidden folder .NAME.download

struct PullArguments {
  std::string model;
  std::string name;  // empty: that of the model
  std::string from;  // empty: HF_ENDPOINT, or the public hub
  bool accepts_licence = false;
  bool force = false;
  bool list = false;
};

fs::path required_models_folder() {
  const fs::path folder = models_folder();
  if (!folder.empty()) return folder;
  throw ConfigError(
      "There is no place for models, since neither HOME nor XDG_DATA_HOME names a folder; type "
      "export XDG_DATA_HOME=\"$PWD\", or another folder of yours.");
}

std::uint64_t bytes_in(const fs::path& folder) {
  std::uint64_t bytes = 0;
  std::error_code unreadable;
  for (const auto& entry : fs::directory_iterator(folder, unreadable)) {
    if (entry.is_regular_file(unreadable)) bytes += entry.file_size(unreadable);
  }
  return bytes;
}

std::string licence_of(const fs::path& folder) {
  return parse_licence(read_config_text(folder), (folder / files::kConfig).string()).name;
}

int list_models() {
  const fs::path models = required_models_folder();
  std::vector<std::string> lines;
  std::error_code absent;
  for (const auto& entry : fs::directory_iterator(models, absent)) {
    std::string name = entry.path().filename().string();
    const bool is_model = fs::exists(entry.path() / files::kConfig);
    const bool is_unfinished = name.starts_with('.') && name.ends_with(kUnfinished);
    if (!is_model && !is_unfinished) continue;
    if (is_unfinished) name = name.substr(1, name.find(kUnfinished, 1) - 1);
    lines.push_back(fmt::format(
        "{:<24} {:>8}  {}\n", name, human_size(bytes_in(entry.path())),
        is_unfinished ? "not whole yet; pull it again to go on" : licence_of(entry.path())));
  }
  std::ranges::sort(lines);
  for (const std::string& line : lines) print(line);
  if (lines.empty()) {
    log_info("pull", "There is no model in {}; myxtts pull xtts-v2 fetches one.", models.string());
  }
  return 0;
}

// In a voice that came with the model, so that it works as it stands, where there is one.
std::string speaking_command(const fs::path& folder, const std::string& name) {
  std::string voice = "--reference me.wav";
  if (fs::exists(folder / files::kVoices)) {
    const std::string tensor = SafetensorsReader(folder / files::kVoices).tensors().begin()->first;
    voice = "--speaker " + shell_word(tensor.substr(0, tensor.rfind('.')));
  }
  return fmt::format(
      "myxtts synthesize --model {} {} --language en --text \"Hello.\" --out hello.wav", name,
      voice);
}

std::string same_command(const PullArguments& arguments) {
  std::string command = "myxtts pull " + arguments.model;
  if (!arguments.name.empty()) command += " --name " + arguments.name;
  if (!arguments.from.empty()) command += " --from " + shell_word(arguments.from);
  return command;
}

// The licence comes first: whoever does not accept it has nothing to wait for.
void fetch_and_import(const PullArguments& arguments, const HubModel& model, const fs::path& out) {
  DownloadFolder folder(out.parent_path() / ("." + model.name + kUnfinished), model.name);
  const std::string endpoint = hub_endpoint(arguments.from);
  HttpClient client({.token = hub_token(endpoint)});
  const std::vector<RemoteFile> files = list_files(client, endpoint, model);
  folder.require_room(files);
  const auto rest = std::ranges::find(files, std::string(files::kConfig), &RemoteFile::name);
  fetch_files(client, model, {files.begin(), rest}, folder.path());
  const Licence licence = accept_licence(folder.path(), "", arguments.accepts_licence);
  fetch_files(client, model, {rest, files.end()}, folder.path());
  import_model(folder.path(), out, arguments.force, [&licence] { return licence; });
  folder.remove();
}

int run_pull(const PullArguments& arguments) {
  if (arguments.list) return list_models();
  if (arguments.model.empty()) {
    throw ConfigError("Name the model to pull, such as xtts-v2, or see what is here with --list.");
  }
  HubModel model = parse_hub_model(arguments.model);
  if (!arguments.name.empty()) model.name = arguments.name;
  if (!is_model_name(model.name)) {
    throw ConfigError(
        fmt::format("--name {} is no name for a model; use letters, digits, '-', '_' "
                    "and '.'.",
                    printable(model.name)));
  }
  const fs::path out = required_models_folder() / model.name;
  if (fs::exists(out / files::kConfig) && !arguments.force) {
    log_info("pull", "{} is here already, in {}; --force fetches it anew.", model.name,
             out.string());
  } else {
    const Interruption interruption;
    try {
      fetch_and_import(arguments, model, out);
    } catch (const Interrupted& interrupted) {
      report_error(fmt::format("Interrupted; what was fetched is kept. To go on, type: {}",
                               same_command(arguments)));
      return kExitBySignal + interrupted.signal;
    } catch (const NoNetworkError& error) {
      throw DataError(fmt::format(
          "{} Without a network, type myxtts import --from {} --out {} for a folder {} that holds "
          "{}.",
          error.what(), model.name, shell_word(out.string()), model.name, files_by_hand(model)));
    }
  }
  log_info("pull", "To hear it, type: {}", speaking_command(out, model.name));
  return 0;
}

std::function<int()> declare_pull(CLI::App& app) {
  const auto arguments = std::make_shared<PullArguments>();
  app.add_option("MODEL", arguments->model, "xtts-v2, or a repository: OWNER/NAME[@REVISION]");
  app.add_option("--name", arguments->name, "What the model is called here. [that of MODEL]")
      ->type_name("NAME");
  app.add_option("--from", arguments->from,
                 "A mirror of the hub. [HF_ENDPOINT, else https://huggingface.co]")
      ->type_name("URL");
  app.add_flag("--accept-licence", arguments->accepts_licence,
               "Accept the licence that comes with the weights");
  app.add_flag("--force", arguments->force, "Fetch a model that is here, and replace it");
  app.add_flag("--list", arguments->list, "Show the models that are here");
  return [arguments] { return run_pull(*arguments); };
}

}  // namespace

Command pull_command() {
  return {.name = "pull",
          .group = "Models",
          .summary = "Fetches a public model and imports it; --model NAME names it from then on",
          .declare = declare_pull,
          .examples = {"myxtts pull xtts-v2", "myxtts pull --list"}};
}

}  // namespace myxtts
