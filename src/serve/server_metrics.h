// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>

namespace myxtts {

// What is true of the server at the moment it is asked for its metrics.
struct ServerState {
  std::size_t places = 0;
  std::size_t used = 0;
  std::size_t talks = 0;
  std::size_t waiting = 0;
  std::size_t models_loaded = 0;
};

// Counts what the server does, for /metrics in Prometheus' text form. Any thread.
class ServerMetrics {
 public:
  void add_answer(int status);
  void add_first_sound(double seconds);  // from the request to its first bytes of sound
  void add_gap(double seconds);          // between two of them
  void add_sound(double seconds);        // that was sent
  void add_disconnect();                 // a client that went away

  std::string text(const ServerState& now) const;

 private:
  static constexpr std::array<double, 10> kBounds = {0.01, 0.025, 0.05, 0.1, 0.15,
                                                     0.3,  0.6,   1.2,  2.5, 5.0};
  struct Histogram {
    std::array<std::int64_t, kBounds.size()> below{};
    std::int64_t count = 0;
    double sum = 0;

    void add(double value);
    std::string text(const std::string& name, const std::string& help) const;
  };

  mutable std::mutex mutex_;
  // Everything below is guarded by mutex_.
  std::map<int, std::int64_t> answers_;  // by status
  Histogram first_sound_;
  Histogram gap_;
  double sound_ = 0;
  std::int64_t left_ = 0;
};

}  // namespace myxtts
