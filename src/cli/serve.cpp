// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/files.h"
#include "base/interruption.h"
#include "base/log.h"
#include "base/message_text.h"
#include "cli/command.h"
#include "cli/flags.h"
#include "run/open_model.h"
#include "serve/http_server.h"
#include "serve/speech_service.h"
#include "serve/wyoming.h"
#include "text/language.h"

namespace myxtts {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kPlacesOnGpu = 64;
constexpr std::int64_t kPlacesOnCpu = 8;
constexpr std::int64_t kMostPlaces = 256;
constexpr std::size_t kSpareConnections = 32;  // for those that ask for something else than speech

struct ServeArguments {
  std::vector<std::string> models;
  fs::path voices;
  fs::path outputs;
  std::string language = "en";
  AccessFlags access = {.listen = {.port = 8020}};
  std::optional<int> wyoming_port;
  std::optional<std::int64_t> streams;
  std::int64_t queue = 64;
  std::int64_t max_text = 20'000;
  std::optional<double> unload_after;  // minutes
  std::int64_t drain = 30;             // seconds
  bool log_text = false;
  DeviceFlags device;
};

void declare_speaking(CLI::App& app, ServeArguments& arguments) {
  app.add_option("--model", arguments.models,
                 "A model folder, a run directory or the name of a pulled model; NAME=DIR gives it "
                 "another name, and several are served when it is given again")
      ->required()
      ->type_name("DIR");
  app.add_option("--voices", arguments.voices,
                 "Folder of voices: NAME.wav, a folder NAME of clips, or NAME.safetensors that "
                 "--save-voice made")
      ->type_name("DIR");
  app.add_option("--language", arguments.language,
                 "Language of texts whose request names none. [en]")
      ->type_name("L");
  app.add_option("--streams", arguments.streams,
                 "Pieces of text that are spoken at once. [64 on a GPU, 8 on the CPU]")
      ->type_name("N");
  app.add_option("--queue", arguments.queue,
                 "Requests that may wait; more are answered with 429. [64]")
      ->type_name("N");
  app.add_option("--max-text", arguments.max_text, "Bytes of text in one request. [20000]")
      ->type_name("N");
  app.add_option(
         "--unload-after", arguments.unload_after,
         "Minutes without a request after which a model's memory is freed; the next request "
         "loads it again. [never]")
      ->type_name("MINUTES");
  app.add_option("--outputs", arguments.outputs,
                 "Folder for the files of POST /tts_to_file, which is refused without it")
      ->type_name("DIR");
}

void declare_access(CLI::App& app, ServeArguments& arguments) {
  constexpr const char* kGroup = kAccessGroup;
  declare_access_flags(app, arguments.access);
  app.add_option("--wyoming-port", arguments.wyoming_port,
                 "Also speaks Home Assistant's Wyoming protocol at this port; 0: any that is free. "
                 "It knows no keys. [not at all]")
      ->type_name("N")
      ->group(kGroup);
  app.add_option("--drain", arguments.drain,
                 "Seconds for what is spoken to end after Ctrl-C or SIGTERM. [30]")
      ->type_name("S")
      ->group(kGroup);
  app.add_flag("--log-text", arguments.log_text, "Writes what is said to the log")->group(kGroup);
}

void check(const ServeArguments& arguments) {
  check_access_flags(arguments.access);
  require_range("--wyoming-port", arguments.wyoming_port.value_or(0), 0, 65535);
  require_range("--streams", arguments.streams.value_or(1), 1, kMostPlaces);
  require_range("--queue", arguments.queue, 0, 10'000);
  require_range("--max-text", arguments.max_text, 1, 10'000'000);
  require_range("--drain", arguments.drain, 0, 86'400);
  check(arguments.device);
  if (arguments.unload_after && !(*arguments.unload_after > 0.0)) {
    throw ConfigError(
        fmt::format("--unload-after is {}; it must be above 0.", *arguments.unload_after));
  }
  parse_language(arguments.language);
  if (!arguments.voices.empty() && !fs::is_directory(arguments.voices)) {
    throw DataError(fmt::format("--voices {} is no folder; make it with: mkdir -p {}",
                                arguments.voices.string(), arguments.voices.string()));
  }
  if (!arguments.outputs.empty()) require_output("--outputs", arguments.outputs, Output::Folder);
}

// Wyoming has no keys.
void check_wyoming(const ServeArguments& arguments) {
  const AccessFlags& access = arguments.access;
  if (is_loopback(access.listen.host) || !arguments.wyoming_port || access.no_key) return;
  throw ConfigError(fmt::format(
      "Wyoming has no keys, so at --host {} everybody could use it; leave --wyoming-port out, or "
      "give --no-api-key in place of the key.",
      access.listen.host));
}

// "voice=runs/anna", or "runs/anna", which is called anna.
ServedModel served_model(const std::string& word) {
  const auto at = word.find('=');
  const bool has_name = at != std::string::npos && !fs::exists(word);
  const std::string path = has_name ? word.substr(at + 1) : word;
  ServedModel model{.name = has_name ? word.substr(0, at) : std::string(),
                    .folder = find_model("--model", path)};
  if (model.name.empty()) {
    const fs::path given = fs::path(path).lexically_normal();
    model.name = (given.has_filename() ? given : given.parent_path()).filename().string();
  }
  return model;
}

ModelRegistryOptions models_of(const ServeArguments& arguments) {
  ModelRegistryOptions options;
  for (const auto& word : arguments.models) {
    options.models.push_back(served_model(word));
    const auto& name = options.models.back().name;
    if (std::ranges::count(options.models, name, &ServedModel::name) == 1) continue;
    throw ConfigError(fmt::format(
        "Two models are called {}; give one of them another name: --model NAME=DIR.", name));
  }
  options.device = open_device(arguments.device);
  options.places =
      arguments.streams.value_or(options.device.is_cuda() ? kPlacesOnGpu : kPlacesOnCpu);
  options.most_waiting = static_cast<std::size_t>(arguments.queue);
  if (arguments.unload_after) {
    options.unload_after =
        std::chrono::milliseconds(static_cast<std::int64_t>(*arguments.unload_after * 60'000.0));
  }
  return options;
}

HttpOptions http_of(const ServeArguments& arguments, const ModelRegistryOptions& models) {
  ListenOptions listen = listen_options(arguments.access);
  listen.connections =
      static_cast<std::size_t>(models.places) + models.most_waiting + kSpareConnections;
  check_wyoming(arguments);
  return {.listen = std::move(listen),
          .most_bytes_of_text = static_cast<std::size_t>(arguments.max_text),
          .drain = std::chrono::seconds(arguments.drain),
          .outputs = arguments.outputs,
          .logs_text = arguments.log_text};
}

int run_serve(const ServeArguments& arguments) {
  check(arguments);
  const Interruption interruption;
  const ModelRegistryOptions models = models_of(arguments);
  SpeechService service(models, arguments.voices, arguments.language);
  HttpServer server(service, http_of(arguments, models));
  service.models().get({});  // so that what is wrong with the first model is said now
  if (!arguments.outputs.empty()) fs::create_directories(arguments.outputs);
  const auto voices = service.voice_names();
  log_info("serve", "{}; speaking up to {} at once",
           counted(static_cast<std::int64_t>(voices.size()), "voice"),
           counted(models.places, "piece of text", "pieces of text"));
  if (voices.empty()) {
    log_warning(
        "serve",
        "there is no voice to speak in yet: start it with --voices DIR and put a clip there, "
        "or send one to POST /v1/audio/voices");
  }
  log_info("serve", "listening at http://{}:{}/ (Ctrl-C ends it)", arguments.access.listen.host,
           server.port());
  std::optional<WyomingServer> wyoming;
  if (arguments.wyoming_port) {
    wyoming.emplace(service, arguments.access.listen.host, *arguments.wyoming_port,
                    static_cast<std::size_t>(arguments.max_text));
    log_info("serve", "Wyoming at {}:{}", arguments.access.listen.host, wyoming->port());
  }
  const InterruptionWatch watch([&server] { server.stop(); });
  server.serve();
  log_info("serve", "ended");
  return 0;
}

}  // namespace

Command serve_command() {
  const auto declare = [](CLI::App& app) {
    const auto arguments = std::make_shared<ServeArguments>();
    declare_speaking(app, *arguments);
    declare_access(app, *arguments);
    declare_device_flags(app, arguments->device);
    return [arguments] { return run_serve(*arguments); };
  };
  return {"serve",
          "Models",
          "Speaks over HTTP: OpenAI's interface, xtts-api-server's, and a page to try it",
          declare,
          {"myxtts serve --model xtts-v2 --voices voices",
           "myxtts serve --model runs/anna --voices voices --host 0.0.0.0 --api-key-file keys.txt",
           "myxtts serve --model xtts-v2 --voices voices --unload-after 10"}};
}

}  // namespace myxtts
