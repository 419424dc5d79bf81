// SPDX-License-Identifier: Apache-2.0
#include "watch/mlflow.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <stdexcept>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "base/atomic_file.h"
#include "base/checksum.h"
#include "base/error.h"
#include "base/log.h"
#include "base/message_text.h"
#include "config/json.h"
#include "fetch/http.h"
#include "http/answers.h"
#include "watch/file_state.h"
#include "watch/run_settings.h"

namespace myxtts {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr const char* kExperiment = "MyXTTS";
constexpr const char* kPlaceFile = "mlflow.json";
constexpr std::size_t kMostMetrics = 1000;  // of one request, by MLflow's rules
constexpr std::size_t kMostSettings = 100;
constexpr std::size_t kLongestValue = 500;  // bytes
constexpr std::size_t kLargestSettings = 1'000'000;
constexpr int kLowPriority = 10;  // of those from 0 to 19

// The server did not take it; it may do so later.
struct NotDelivered : std::runtime_error {
  using std::runtime_error::runtime_error;
};

std::string variable(const char* name) {
  const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): nobody calls setenv
  return value == nullptr ? "" : value;
}

std::int64_t milliseconds_now() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

std::string without_end(std::string url) {
  while (url.ends_with('/')) url.pop_back();
  return url;
}

}  // namespace

MlflowSender::MlflowSender(std::string url, const fs::path& run, Pace pace)
    : url_(without_end(std::move(url))), run_(run), pace_(pace), metrics_(run / "metrics.jsonl") {
  if (const auto kept = read_object(run_ / kPlaceFile);
      kept && text_in(*kept, "url") == url_ && !text_in(*kept, "run_id").empty()) {
    run_id_ = text_in(*kept, "run_id");
    // A resumed run has cut the file behind its checkpoint.
    const auto position = std::max<std::int64_t>(0, whole_in(*kept, "position").value_or(0));
    position_ = std::min(static_cast<std::uint64_t>(position),
                         static_cast<std::uint64_t>(FileState::of(run / "metrics.jsonl").size));
  }
  threads_.start("mlflow", [this] { work(); });
}

MlflowSender::~MlflowSender() {
  is_given_up_ = true;
  const std::lock_guard lock(mutex_);
  if (!ending_) ending_ = "KILLED";
  woken_.notify_all();
}

bool MlflowSender::wait(std::chrono::milliseconds time) {
  std::unique_lock lock(mutex_);
  woken_.wait_for(lock, time, [this] { return ending_.has_value(); });
  return !ending_;
}

void MlflowSender::work() {
  ::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), kLowPriority);
  auto pause = pace_.between;
  while (wait(pause)) {
    try {
      send_what_is_new();
      if (std::exchange(is_down_, false)) log_info("mlflow", "{} answers again", url_);
      pause = pace_.between;
    } catch (const NotDelivered& error) {
      if (!std::exchange(is_down_, true)) {
        log_warning("mlflow",
                    "{} Training goes on; the numbers stand in metrics.jsonl and are sent once the "
                    "server takes them.",
                    error.what());
      }
      pause = std::min(2 * pause, pace_.longest);
    }
  }
}

Json MlflowSender::ask(const std::string& path, const Json& body) {
  HttpExchange request{.url = url_ + "/api/2.0/mlflow/" + path,
                       .body = body.is_null() ? std::string() : text_of(body),
                       .token = variable("MLFLOW_TRACKING_TOKEN")};
  const std::string user = variable("MLFLOW_TRACKING_USERNAME");
  if (!user.empty()) request.user = user + ":" + variable("MLFLOW_TRACKING_PASSWORD");
  run_exchange(request, is_given_up_);
  if (request.status == 0) {
    throw NotDelivered(fmt::format("MLflow at {} does not answer: {}.", url_, request.failure));
  }
  Json answer = parse_shallow_json<Json>(request.answer);
  if (request.status == 200 && answer.is_object()) return answer;
  if (request.status == 404 && body.is_null()) return Json::object();
  if (request.status == 200) throw NotDelivered(fmt::format("{} is no MLflow server.", url_));
  const std::string said = answer.is_object() ? text_in(answer, "message") : std::string();
  throw NotDelivered(fmt::format("MLflow at {} answers {} to {}{}.", url_, request.status, path,
                                 said.empty() ? "" : ": " + printable(said)));
}

std::string MlflowSender::experiment() {
  const Json known =
      ask(std::string("experiments/get-by-name?experiment_name=") + kExperiment, nullptr);
  if (known.contains("experiment")) return text_in(known["experiment"], "experiment_id");
  return text_in(ask("experiments/create", {{"name", kExperiment}}), "experiment_id");
}

void MlflowSender::begin_run() {
  fs::path named = fs::absolute(run_).lexically_normal();
  if (!named.has_filename()) named = named.parent_path();
  const Json made =
      ask("runs/create", {{"experiment_id", experiment()},
                          {"run_name", named.filename().string()},
                          {"start_time", milliseconds_now()},
                          {"tags", {{{"key", "myxtts.folder"}, {"value", named.string()}}}}});
  const Json run = made.value("run", Json::object());
  const std::string id = text_in(run.value("info", Json::object()), "run_id");
  if (id.empty()) throw NotDelivered(fmt::format("{} is no MLflow server.", url_));
  run_id_ = id;
  position_ = 0;
  keep_place();
  send_settings();
}

void MlflowSender::send_settings() {
  Json settings = Json::array();
  const auto send = [&] {
    if (settings.empty()) return;
    ask("runs/log-batch",
        {{"run_id", run_id_}, {"params", std::exchange(settings, Json::array())}});
  };
  const std::string yaml = read_part(run_ / "config.yaml", 0, kLargestSettings).value_or("");
  for (const KeptSetting& each : parse_kept_settings(yaml)) {
    settings.push_back({{"key", each.key}, {"value", each.value.substr(0, kLongestValue)}});
    if (settings.size() == kMostSettings) send();
  }
  send();
}

void MlflowSender::send_what_is_new() {
  metrics_.look();
  if (position_ >= metrics_.position()) return;
  if (run_id_.empty()) begin_run();
  while (position_ < metrics_.position() && !is_given_up_) {
    Json batch = Json::array();
    const std::uint64_t end = metrics_.read_again(position_, [&](const ReadLine& line) {
      for (const auto& [name, value] : line.values) {
        if (!std::isfinite(value)) continue;  // MLflow takes numbers alone
        batch.push_back({{"key", line.event + "/" + name},
                         {"value", value},
                         {"timestamp", milliseconds_now()},
                         {"step", line.step}});
      }
      return batch.size() + line.values.size() <= kMostMetrics;
    });
    if (end == position_) return;  // the file is gone
    if (!batch.empty()) ask("runs/log-batch", {{"run_id", run_id_}, {"metrics", batch}});
    position_ = end;
    keep_place();
  }
}

void MlflowSender::keep_place() const {
  try {
    const Json place{{"url", url_}, {"run_id", run_id_}, {"position", position_}};
    write_file_atomically(run_ / kPlaceFile, bytes_of(text_of(place) + "\n"));
  } catch (const DataError& error) {  // at worst a line is sent again, which changes nothing there
    log_debug("mlflow", "{}", error.what());
  }
}

void MlflowSender::finish(const std::string& status) {
  {
    const std::lock_guard lock(mutex_);
    if (ending_) return;
    ending_ = status;
    woken_.notify_all();
  }
  // What the thread is at must not keep a run from its end.
  ThreadGroup limit;
  std::atomic<bool> is_done = false;
  limit.start("mlflow limit", [&] {
    const auto end = std::chrono::steady_clock::now() + pace_.last;
    while (!is_done && std::chrono::steady_clock::now() < end) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    if (!is_done) is_given_up_ = true;
  });
  threads_.join();
  try {
    send_what_is_new();
    if (!run_id_.empty() && !is_given_up_) {
      ask("runs/update",
          {{"run_id", run_id_}, {"status", status}, {"end_time", milliseconds_now()}});
    }
  } catch (const NotDelivered& error) {
    log_debug("mlflow", "{}", error.what());
  }
  is_done = true;
  metrics_.look();
  if (position_ < metrics_.position()) {
    log_warning("mlflow",
                "{} of metrics.jsonl were not delivered to {}; the process that continues the run "
                "with --resume sends them.",
                human_size(metrics_.position() - position_), url_);
  }
}

}  // namespace myxtts
