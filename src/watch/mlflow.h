// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string>

#include <nlohmann/json.hpp>

#include "base/thread_group.h"
#include "watch/metrics_reader.h"

namespace myxtts {

// Sends the numbers of a run to an MLflow server while the run goes on (--mlflow).
//
// It reads metrics.jsonl as it grows, in a thread to which all others go first, and RUN/mlflow.json
// says how far it came: whatever the server does, training waits for nothing, nothing is held in
// memory, and what was not delivered is sent by the process that continues the run. A server that
// does not answer is said once and asked again and again, more and more rarely.
//
//   MlflowSender(...) ... ──▶ finish()
class MlflowSender {
 public:
  struct Pace {
    std::chrono::milliseconds between{2000};     // two looks at metrics.jsonl
    std::chrono::milliseconds longest{300'000};  // between two tries
    std::chrono::milliseconds last{5000};        // for what is left when the run has ended
  };

  // `url` is the server's, `run` a run directory. MLFLOW_TRACKING_TOKEN, or
  // MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD, say who asks, as for MLflow's own
  // clients.
  MlflowSender(std::string url, const std::filesystem::path& run, Pace pace);
  MlflowSender(std::string url, const std::filesystem::path& run)
      : MlflowSender(std::move(url), run, Pace{}) {}
  MlflowSender(const MlflowSender&) = delete;
  MlflowSender& operator=(const MlflowSender&) = delete;
  ~MlflowSender();  // gives up at once what finish() did not send

  // Once; further calls do nothing. Sends what is left, for a few seconds at most, and how the run
  // ended ("FINISHED", "FAILED", "KILLED"). Says what was not delivered.
  void finish(const std::string& status);

 private:
  void work();
  void send_what_is_new();
  void begin_run();
  nlohmann::json ask(const std::string& path, const nlohmann::json& body);
  std::string experiment();
  void send_settings();
  bool wait(std::chrono::milliseconds time);
  void keep_place() const;

  const std::string url_;
  const std::filesystem::path run_;
  const Pace pace_;
  std::atomic<bool> is_given_up_ = false;

  // The thread's.
  MetricsReader metrics_;
  std::string run_id_;
  std::uint64_t position_ = 0;  // of metrics.jsonl: what was delivered
  bool is_down_ = false;

  std::mutex mutex_;
  // Everything below is guarded by mutex_.
  std::condition_variable woken_;
  std::optional<std::string> ending_;  // finish() was called
  ThreadGroup threads_;                // last: it uses everything above
};

}  // namespace myxtts
