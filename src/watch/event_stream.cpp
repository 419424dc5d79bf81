// SPDX-License-Identifier: Apache-2.0
#include "watch/event_stream.h"

#include <chrono>
#include <thread>
#include <utility>

#include "http/answers.h"

namespace myxtts {
namespace {

using Json = nlohmann::json;

constexpr std::chrono::milliseconds kTick{100};
constexpr int kTicks = 10;
constexpr int kHeartbeat = 10;  // seconds

}  // namespace

EventStream::EventStream(RunShelf& shelf, std::shared_ptr<WatchedRun> run,
                         std::function<bool()> is_ending)
    : shelf_(shelf), run_(std::move(run)), is_ending_(std::move(is_ending)) {
  if (!run_) return;
  place_ = run_->place();
  samples_ = run_->mark_of_samples();
  log_position_ = run_->log(-1)["size"];
}

bool EventStream::wait_a_second(const httplib::DataSink& sink) const {
  for (int tick = 0; tick < kTicks; ++tick) {
    if (is_ending_() || !sink.is_writable()) return false;
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
  add_if_new(text, "runs", shelf_.overview());
  return text;
}

bool EventStream::send_next(httplib::DataSink& sink) {
  if (!std::exchange(is_first_, false) && !wait_a_second(sink)) {
    if (is_ending_()) sink.done();
    return is_ending_();
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
