// SPDX-License-Identifier: Apache-2.0
#include "serve/server_metrics.h"

#include <fmt/format.h>

namespace myxtts {
namespace {

std::string head(const std::string& name, const std::string& help, const char* type) {
  return fmt::format("# HELP {0} {1}\n# TYPE {0} {2}\n", name, help, type);
}

std::string gauge(const std::string& name, const std::string& help, std::size_t value) {
  return head(name, help, "gauge") + fmt::format("{} {}\n", name, value);
}

}  // namespace

void ServerMetrics::Histogram::add(double value) {
  for (std::size_t i = 0; i < kBounds.size(); ++i) below[i] += value <= kBounds[i] ? 1 : 0;
  ++count;
  sum += value;
}

std::string ServerMetrics::Histogram::text(const std::string& name, const std::string& help) const {
  std::string lines = head(name, help, "histogram");
  for (std::size_t i = 0; i < kBounds.size(); ++i) {
    lines += fmt::format("{}_bucket{{le=\"{}\"}} {}\n", name, kBounds[i], below[i]);
  }
  return lines + fmt::format("{0}_bucket{{le=\"+Inf\"}} {1}\n{0}_sum {2}\n{0}_count {1}\n", name,
                             count, sum);
}

void ServerMetrics::add_answer(int status) {
  const std::lock_guard lock(mutex_);
  ++answers_[status];
}

void ServerMetrics::add_first_sound(double seconds) {
  const std::lock_guard lock(mutex_);
  first_sound_.add(seconds);
}

void ServerMetrics::add_gap(double seconds) {
  const std::lock_guard lock(mutex_);
  gap_.add(seconds);
}

void ServerMetrics::add_sound(double seconds) {
  const std::lock_guard lock(mutex_);
  sound_ += seconds;
}

void ServerMetrics::add_disconnect() {
  const std::lock_guard lock(mutex_);
  ++left_;
}

std::string ServerMetrics::text(const ServerState& now) const {
  const std::lock_guard lock(mutex_);
  std::string lines = head("myxtts_requests_total", "Answers, by their HTTP status.", "counter");
  for (const auto& [status, count] : answers_) {
    lines += fmt::format("myxtts_requests_total{{status=\"{}\"}} {}\n", status, count);
  }
  lines += gauge("myxtts_places", "Pieces of text that can be spoken at once.", now.places);
  lines += gauge("myxtts_places_used", "Places that speak now.", now.used);
  lines += gauge("myxtts_requests_speaking", "Requests that are spoken now.", now.talks);
  lines += gauge("myxtts_requests_waiting", "Requests that wait for a place.", now.waiting);
  lines += gauge("myxtts_models_loaded", "Models that are in memory.", now.models_loaded);
  lines += head("myxtts_audio_seconds_total", "Seconds of speech that were sent.", "counter");
  lines += fmt::format("myxtts_audio_seconds_total {}\n", sound_);
  lines += head("myxtts_clients_left_total", "Clients that went away before the end.", "counter");
  lines += fmt::format("myxtts_clients_left_total {}\n", left_);
  lines += first_sound_.text("myxtts_first_sound_seconds",
                             "From a request to its first bytes of sound.");
  lines += gap_.text("myxtts_sound_gap_seconds", "Between two parts of one answer's sound.");
  return lines;
}

}  // namespace myxtts
