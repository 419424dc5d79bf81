// SPDX-License-Identifier: Apache-2.0
#include "base/trace.h"

#include <pthread.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <map>
#include <memory>
#include <system_error>
#include <utility>

#include "base/error.h"

namespace myxtts {

namespace detail {
std::atomic<bool> trace_is_on = false;
}

namespace {

constexpr std::size_t kEventsAtOnce = 4096;  // that a lane keeps before it writes them

// The file, and the lanes of this trace by name. One for the process.
class TraceFile {
 public:
  void start(const std::filesystem::path& path) {
    const std::lock_guard lock(mutex_);
    MYXTTS_CHECK(file_ == nullptr, "a trace is being written to {} already", path_.string());
    file_ = std::fopen(path.c_str(), "w");
    if (file_ == nullptr) {
      throw DataError(
          fmt::format("The trace cannot be written to {}: {}. Name a file in a folder that exists "
                      "and may be written.",
                      path.string(), std::generic_category().message(errno)));
    }
    path_ = path;
    start_ = system_clock().now();
    for (auto& [name, lane] : lanes_) past_lanes_.push_back(std::move(lane));
    lanes_.clear();
    generation_.fetch_add(1);
    // An array, whose end a reader may find missing: a trace of a run that was killed can be read.
    write("[{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":1,\"args\":{\"name\":\"myxtts\"}}");
    detail::trace_is_on = true;
  }

  void finish() {
    detail::trace_is_on = false;
    std::vector<TraceLane*> lanes;
    {
      const std::lock_guard lock(mutex_);
      for (auto& [name, lane] : lanes_) lanes.push_back(lane.get());
    }
    for (TraceLane* lane : lanes) lane->flush();
    const std::lock_guard lock(mutex_);
    if (file_ == nullptr) return;
    write("\n]\n");
    const bool whole = std::ferror(file_) == 0;
    const bool closed = std::fclose(std::exchange(file_, nullptr)) == 0;
    if (!whole || !closed) {
      throw DataError(
          fmt::format("The disk did not take all of the trace {}. Make room, or name another file.",
                      path_.string()));
    }
  }

  TraceLane& lane(std::string_view name) {
    const std::lock_guard lock(mutex_);
    auto found = lanes_.find(name);
    if (found == lanes_.end()) {
      const int number = static_cast<int>(lanes_.size()) + 1;
      found = lanes_.emplace(std::string(name), std::make_unique<TraceLane>(number)).first;
      if (file_ != nullptr) {
        write(
            fmt::format(",\n{{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":1,\"tid\":{},"
                        "\"args\":{{\"name\":\"{}\"}}}}",
                        number, name));
      }
    }
    return *found->second;
  }

  void append(const std::string& lines) {
    const std::lock_guard lock(mutex_);
    if (file_ != nullptr) write(lines);
  }

  double microseconds(Clock::Time time) const {
    return std::chrono::duration<double, std::micro>(time - start_.load()).count();
  }
  int generation() const { return generation_.load(); }

 private:
  void write(const std::string& text) { std::fwrite(text.data(), 1, text.size(), file_); }

  std::atomic<Clock::Time> start_{};
  std::atomic<int> generation_ = 0;

  // Everything below is guarded by mutex_.
  std::mutex mutex_;
  std::filesystem::path path_;
  std::FILE* file_ = nullptr;
  std::map<std::string, std::unique_ptr<TraceLane>, std::less<>> lanes_;
  std::vector<std::unique_ptr<TraceLane>> past_lanes_;  // threads may still hold one
};

TraceFile& trace_file() {
  static TraceFile file;
  return file;
}

TraceLane& lane_of_this_thread() {
  thread_local TraceLane* lane = nullptr;
  thread_local int generation = -1;
  if (generation != trace_file().generation()) {
    std::array<char, 16> name{};
    pthread_getname_np(pthread_self(), name.data(), name.size());
    generation = trace_file().generation();
    lane = &trace_lane(name.data());
  }
  return *lane;
}

}  // namespace

void start_trace(const std::filesystem::path& file) {
  trace_file().start(file);
}

void finish_trace() {
  trace_file().finish();
}

TraceLane& trace_lane(std::string_view name) {
  return trace_file().lane(name);
}

void TraceLane::add(const char* name, Clock::Time from, Clock::Time to, std::int64_t batch) {
  append({.name = name, .from = from, .to = to, .batch = batch, .value = 0, .is_count = false});
}

void TraceLane::count(const char* name, Clock::Time at, double value) {
  append({.name = name, .from = at, .to = at, .batch = -1, .value = value, .is_count = true});
}

void TraceLane::append(const Event& event) {
  bool full = false;
  {
    const std::lock_guard lock(mutex_);
    events_.push_back(event);
    full = events_.size() >= kEventsAtOnce;
  }
  if (full) flush();
}

std::vector<TraceLane::Event> TraceLane::take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(events_, {});
}

void TraceLane::flush() {
  std::string lines;
  for (const Event& event : take()) {
    const double from = trace_file().microseconds(event.from);
    const auto line = [&](std::string_view phase, const std::string& rest) {
      lines +=
          fmt::format(",\n{{\"name\":\"{}\",\"ph\":\"{}\",\"pid\":1,\"tid\":{},\"ts\":{:.3f}{}}}",
                      event.name, phase, number_, from, rest);
    };
    if (event.is_count) {
      line("C", fmt::format(",\"args\":{{\"value\":{}}}", event.value));
    } else {
      std::string rest = fmt::format(",\"dur\":{:.3f}", trace_file().microseconds(event.to) - from);
      if (event.batch >= 0) rest += fmt::format(",\"args\":{{\"batch\":{}}}", event.batch);
      line("X", rest);
    }
  }
  trace_file().append(lines);
}

void TraceScope::end() const {
  lane_of_this_thread().add(name_, from_, system_clock().now(), batch_);
}

}  // namespace myxtts
