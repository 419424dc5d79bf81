// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"

namespace myxtts {

// What happened when, as a file for ui.perfetto.dev or chrome://tracing: one lane for each thread
// that did something and for each stream of a device.
//
//   start_trace("run.json");
//   { const TraceScope scope("decode", batch); ... }       // on this thread's lane
//   trace_lane("data stream").add("dvae", from, to, batch);  // what a device did, once it is known
//   finish_trace();
//
// While no trace is written a scope costs one look at a flag. Names are string literals. Any
// thread.

// Throws DataError when the file cannot be written. Only one trace at a time.
void start_trace(const std::filesystem::path& file);

// Writes what is left and closes the file; nothing when there is no trace. Threads may still be in
// scopes: those are not in the file. Throws DataError when the disk did not take all of it.
void finish_trace();

namespace detail {
extern std::atomic<bool> trace_is_on;
}
inline bool tracing() {
  return detail::trace_is_on.load(std::memory_order_relaxed);
}

// A row of the picture. Belongs to the trace that it was made for: ask trace_lane() again for the
// next one.
class TraceLane {
 public:
  explicit TraceLane(int number) : number_(number) {}

  void add(const char* name, Clock::Time from, Clock::Time to, std::int64_t batch);
  void count(const char* name, Clock::Time at, double value);  // a curve below the lanes
  void flush();

 private:
  struct Event {
    const char* name;
    Clock::Time from;
    Clock::Time to;
    std::int64_t batch;  // -1: of no batch
    double value;        // of a curve
    bool is_count;
  };
  void append(const Event& event);
  std::vector<Event> take();

  const int number_;

  // Everything below is guarded by mutex_.
  std::mutex mutex_;
  std::vector<Event> events_;
};

// The lane of that name, made when it is first asked for; good until the process ends.
TraceLane& trace_lane(std::string_view name);

// The time from here to the end of the scope, on the lane of this thread, which is called as the
// thread is.
class TraceScope {
 public:
  explicit TraceScope(const char* name, std::int64_t batch = -1)
      : name_(tracing() ? name : nullptr), batch_(batch) {
    if (name_ != nullptr) from_ = system_clock().now();
  }
  TraceScope(const TraceScope&) = delete;
  TraceScope& operator=(const TraceScope&) = delete;
  ~TraceScope() {
    if (name_ != nullptr) end();
  }

 private:
  void end() const;

  const char* const name_;
  const std::int64_t batch_;
  Clock::Time from_{};
};

}  // namespace myxtts
