// SPDX-License-Identifier: Apache-2.0
#include "watch/watch_server.h"

#include <sys/resource.h>
#include <unistd.h>

#include <charconv>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "base/message_text.h"
#include "watch/report_file.h"

namespace myxtts {
namespace {

using httplib::Request;
using httplib::Response;
using Json = nlohmann::json;

constexpr std::size_t kConnections = 64;
constexpr int kMostStreams = 32;  // of events; other requests keep the rest of the connections
constexpr std::size_t kLargestSample = 64'000'000;  // bytes
constexpr std::size_t kFewestCompared = 2;
constexpr std::size_t kMostCompared = 8;

std::int64_t number_of(const Request& request, const char* name, std::int64_t otherwise,
                       std::int64_t least, std::int64_t most) {
  if (!request.has_param(name)) return otherwise;
  const std::string text = request.get_param_value(name);
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc() && end == text.data() + text.size() && number >= least &&
      number <= most) {
    return number;
  }
  throw RequestError(400, "wrong_number",
                     fmt::format("{} is {}; it must be a whole number from {} to {}.", name,
                                 printable(text), least, most),
                     name);
}

std::string required(const Request& request, const char* name) {
  if (request.has_param(name)) return request.get_param_value(name);
  throw RequestError(400, "missing", fmt::format("The request does not say {}=...", name), name);
}

CurvesWanted curves_wanted(const Request& request) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  CurvesWanted wanted{
      .from = number_of(request, "from", 0, 0, kMost),
      .to = number_of(request, "to", kMost, 0, kMost),
      .points = static_cast<std::size_t>(number_of(request, "points", 1000, 10, 4000))};
  std::string_view names;
  const std::string given = request.get_param_value("names");
  names = given;
  while (!names.empty()) {
    const auto comma = std::min(names.find(','), names.size());
    wanted.names.emplace(names.substr(0, comma));
    names.remove_prefix(std::min(comma + 1, names.size()));
  }
  return wanted;
}

Json compared(const std::vector<std::shared_ptr<WatchedRun>>& runs) {
  auto lines = Json::array();
  std::vector<std::vector<KeptSetting>> settings;
  std::map<std::string, int> names;
  for (const auto& run : runs) {
    lines.push_back(run->line());
    settings.push_back(run->settings());
    for (const auto& name : run->curve_names()) ++names[name];
  }
  Json answer = differences_of(settings);
  answer["runs"] = std::move(lines);
  answer["curves"] = Json::array();
  for (const auto& [name, count] : names) {
    if (count > 1) answer["curves"].push_back(name);
  }
  return answer;
}

ListenOptions with_connections(ListenOptions listen) {
  listen.connections = kConnections;
  return listen;
}

void answer_file(Response& response, std::optional<std::string> bytes, const char* type) {
  if (!bytes) {
    throw RequestError(404, "no_such_file", "There is no such sample, or it has been removed.");
  }
  response.set_header("X-Content-Type-Options", "nosniff");
  response.set_header("Cache-Control", "private, max-age=3600");
  response.set_content(std::move(*bytes), type);
}

}  // namespace

WatchServer::WatchServer(const ListenOptions& listen, std::vector<std::filesystem::path> folders,
                         std::string version)
    : registry_(std::move(folders), std::move(version)),
      server_(with_connections(listen),
              {.name = "watch", .help = "GET / has the page.", .largest_body = 0}) {
  add_routes();
  port_ = server_.listen();
}

std::shared_ptr<WatchedRun> WatchServer::run_of(const Request& request) {
  return registry_.get(required(request, "id"));
}

// A route whose answer is the JSON of `make`.
void WatchServer::get_json(const char* path, std::function<Json(const Request&)> make) {
  server_.routes().get(path, [make = std::move(make)](const Request& request, Response& response) {
    answer_json(response, make(request));
  });
}

void WatchServer::add_routes() {
  server_.routes().get(
      "/", [](const Request&, Response& response) { answer_page(response, kWatchPage); });
  get_json("/api/runs", [this](const Request&) { return registry_.overview(); });
  get_json("/api/compare", [this](const Request& request) {
    std::vector<std::shared_ptr<WatchedRun>> runs;
    const std::size_t count = request.get_param_value_count("id");
    if (count < kFewestCompared || count > kMostCompared) {
      throw RequestError(
          400, "wrong_number",
          fmt::format("Name {} to {} runs: id=A&id=B.", kFewestCompared, kMostCompared));
    }
    for (std::size_t i = 0; i < count; ++i) {
      runs.push_back(registry_.get(request.get_param_value("id", i)));
    }
    return compared(runs);
  });
  server_.routes().get("/api/events", [this](const Request& request, Response& response) {
    answer_events(request, response);
  });
  add_run_routes();
  add_sound_routes();
}

void WatchServer::add_run_routes() {
  get_json("/api/run", [this](const Request& request) { return run_of(request)->facts(); });
  get_json("/api/curves", [this](const Request& request) {
    return run_of(request)->curves(curves_wanted(request));
  });
  get_json("/api/samples", [this](const Request& request) { return run_of(request)->samples(); });
  for (const char* list : {"skipped", "suspicious"}) {
    const std::string path = std::string("/api/") + list;
    get_json(path.c_str(), [this, list](const Request& request) {
      return run_of(request)->clips(
          list, static_cast<std::size_t>(number_of(request, "from", 0, 0, 1'000'000'000)),
          static_cast<std::size_t>(number_of(request, "count", 100, 1, 1000)),
          request.get_param_value("reason"), /*with_sounds=*/true);
    });
  }
  get_json("/api/log", [this](const Request& request) {
    constexpr std::int64_t kFar = std::int64_t{1} << 60;
    return run_of(request)->log(number_of(request, "from", -65536, -kFar, kFar));
  });
}

void WatchServer::add_sound_routes() {
  const auto add = [this](const char* path, auto find, const char* type) {
    server_.routes().get(path, [this, find, type](const Request& request, Response& response) {
      answer_file(response, find(*run_of(request), request), type);
    });
  };
  const auto sample = [](const char* ending) {
    return [ending](WatchedRun& run, const Request& request) -> std::optional<std::string> {
      const std::string file = required(request, "file");
      const auto path = sample_file(run.found().folder, required(request, "step"), file);
      if (!path || !file.ends_with(ending)) return {};
      return read_part(*path, 0, kLargestSample);
    };
  };
  add("/api/sound", sample(".wav"), "audio/wav");
  add("/api/picture", sample(".png"), "image/png");
  const auto clip = [](WatchedRun& run, const Request& request) -> std::optional<std::string> {
    required(request, "index");
    const auto index = number_of(request, "index", 0, 0, 1'000'000'000);
    const auto path = run.sound_of_clip(required(request, "list"), static_cast<std::size_t>(index));
    return path ? wav_of_file(*path) : std::nullopt;
  };
  add("/api/clip", clip, "audio/wav");
}

void WatchServer::answer_events(const Request& request, Response& response) {
  std::shared_ptr<WatchedRun> run;
  if (request.has_param("id")) run = run_of(request);
  if (++streams_ > kMostStreams) {
    --streams_;
    throw RequestError(503, "too_many_pages",
                       "Too many pages are open at once; close some of them.");
  }
  const auto stream =
      std::make_shared<EventStream>(registry_, run, [this] { return server_.is_draining(); });
  response.set_header("Cache-Control", "no-store");
  response.set_chunked_content_provider(
      "text/event-stream",
      [stream](std::size_t, httplib::DataSink& sink) { return stream->send_next(sink); },
      [this](bool) { --streams_; });
}

namespace {

constexpr int kUsualPort = 8021;
constexpr int kBehindAll = 10;  // of the priorities from 0 to 19

std::unique_ptr<WatchServer> server_beside(const std::filesystem::path& run,
                                           std::optional<int> port, const std::string& version) {
  ListenOptions listen{.port = port.value_or(kUsualPort)};
  listen.access.hosts = {"localhost", "127.0.0.1", "::1"};
  const std::vector<std::filesystem::path> folders = {run};
  try {
    return std::make_unique<WatchServer>(listen, folders, version);
  } catch (const ConfigError&) {
    if (port) throw;
    listen.port = 0;
    return std::make_unique<WatchServer>(listen, folders, version);
  }
}

}  // namespace

WatchBeside::WatchBeside(const std::filesystem::path& run, std::optional<int> port,
                         std::string version)
    : server_(server_beside(run, port, version)) {
  threads_.start("watch", [this] {
    // The threads that it starts for its connections have the same.
    ::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), kBehindAll);
    server_->serve();
  });
}

WatchBeside::~WatchBeside() {
  server_->stop();
}

std::string WatchBeside::address() const {
  return fmt::format("http://127.0.0.1:{}/", server_->port());
}

}  // namespace myxtts
