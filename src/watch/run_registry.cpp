// SPDX-License-Identifier: Apache-2.0
#include "watch/run_registry.h"

#include <algorithm>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "base/message_text.h"
#include "http/answers.h"
#include "http/request_error.h"

namespace myxtts {
namespace {

using Json = nlohmann::json;
using SteadyClock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kBetweenSearches{1000};
constexpr int kSearchShare = 20;  // at most that part of the time is spent searching
constexpr std::chrono::milliseconds kTick{100};
constexpr int kTicks = 10;
constexpr int kHeartbeat = 10;  // seconds

}  // namespace

std::vector<std::shared_ptr<WatchedRun>> RunRegistry::all() {
  const std::lock_guard lock(mutex_);
  const auto began = SteadyClock::now();
  if (began >= search_again_) {
    std::map<std::string, std::shared_ptr<WatchedRun>> now;
    for (FoundRun& found : find_runs(folders_)) {
      const auto known = runs_.find(found.id);
      const bool is_same = known != runs_.end() && known->second->found().folder == found.folder;
      const std::string id = found.id;
      now[id] = is_same ? known->second : std::make_shared<WatchedRun>(std::move(found));
    }
    runs_ = std::move(now);
    const auto ended = SteadyClock::now();
    search_again_ =
        ended + std::max<SteadyClock::duration>(kBetweenSearches, kSearchShare * (ended - began));
  }
  std::vector<std::shared_ptr<WatchedRun>> runs;
  for (const auto& [id, run] : runs_) runs.push_back(run);
  return runs;
}

std::shared_ptr<WatchedRun> RunRegistry::get(const std::string& id) {
  for (auto& run : all()) {
    if (run->found().id == id) return run;
  }
  throw RequestError(
      404, "no_such_run",
      fmt::format("There is no run {} here; it may have been renamed or deleted.", printable(id)));
}

Json RunRegistry::overview() {
  std::vector<Json> lines;
  for (const auto& run : all()) lines.push_back(run->line());
  std::ranges::stable_sort(lines, std::ranges::greater{},
                           [](const Json& line) { return line["updated"].get<double>(); });
  auto folders = Json::array();
  for (const auto& folder : folders_) {
    folders.push_back(std::filesystem::absolute(folder).lexically_normal().string());
  }
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return {{"folders", std::move(folders)},
          {"version", version_},
          {"now", std::chrono::duration<double>(now).count()},
          {"runs", lines}};
}

EventStream::EventStream(RunRegistry& registry, std::shared_ptr<WatchedRun> run,
                         std::function<bool()> is_draining)
    : registry_(registry), run_(std::move(run)), is_draining_(std::move(is_draining)) {
  if (!run_) return;
  place_ = run_->place();
  samples_ = run_->mark_of_samples();
  log_position_ = run_->log(-1)["size"];
}

bool EventStream::wait_a_second(const httplib::DataSink& sink) const {
  for (int tick = 0; tick < kTicks; ++tick) {
    if (is_draining_() || !sink.is_writable()) return false;
    std::this_thread::sleep_for(kTick);
  }
  return true;
}

void EventStream::add(std::string& text, const char* event, const Json& data) {
  text += "event: ";
  text += event;
  text += "\ndata: ";
  text += text_of(data);
  text += "\n\n";
}

void EventStream::add_if_new(std::string& text, const char* event, const Json& data) {
  Json compared = data;
  compared.erase("now");
  if (std::string now = text_of(compared); now != last_) {
    last_ = std::move(now);
    add(text, event, data);
  }
}

std::string EventStream::changes_of_run() {
  std::string text;
  if (!run_->is_there()) {
    add_if_new(text, "run", {{"gone", true}});
    return text;
  }
  add_if_new(text, "run", run_->facts());
  const Json points = run_->points_since(place_);
  if (points.is_null()) {
    add(text, "again", Json::object());
  } else if (!points.empty()) {
    add(text, "points", {{"curves", points}});
  }
  if (std::string mark = run_->mark_of_samples(); mark != samples_) {
    samples_ = std::move(mark);
    add(text, "samples", Json::object());
  }
  Json log = run_->log(log_position_);
  if (log["size"] < log_position_) log = run_->log(0);  // it was replaced
  log_position_ = log["to"];
  if (!log["lines"].empty()) add(text, "log", log);
  return text;
}

std::string EventStream::changes() {
  if (run_) return changes_of_run();
  std::string text;
  add_if_new(text, "runs", registry_.overview());
  return text;
}

bool EventStream::send_next(httplib::DataSink& sink) {
  if (!std::exchange(is_first_, false) && !wait_a_second(sink)) {
    if (is_draining_()) sink.done();
    return is_draining_();
  }
  std::string text = changes();
  quiet_ = text.empty() ? quiet_ + 1 : 0;
  if (quiet_ >= kHeartbeat) {
    text = ":\n\n";
    quiet_ = 0;
  }
  return text.empty() || sink.write(text.data(), text.size());
}

}  // namespace myxtts
