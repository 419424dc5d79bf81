// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <c10/core/Device.h>

#include "base/thread_group.h"
#include "serve/voice_store.h"
#include "synth/speech_queue.h"
#include "synth/synthesizer.h"

namespace myxtts {

// A model that the server speaks with.
struct ServedModel {
  std::string name;
  std::filesystem::path folder;
};

// How models are loaded.
struct ModelRegistryOptions {
  std::vector<ServedModel> models;  // the first is spoken with where none is named
  c10::Device device = c10::kCPU;
  std::int64_t places = 8;
  std::size_t most_waiting = 64;
  std::optional<std::chrono::milliseconds>
      unload_after;  // without a request; never where not given
};

// A model in memory, with the queue that speaks with it. Any thread.
class LoadedModel {
 public:
  LoadedModel(const ServedModel& served, const ModelRegistryOptions& options);

  const std::string& name() const { return name_; }
  const SpeakingModel& model() const { return model_; }
  SpeechQueue& queue() { return queue_; }
  std::int64_t sample_rate() const { return synthesizer_.sample_rate(); }

  // The voice in these files, heard once and kept while they do not change.
  Voice voice_of(const StoredVoice& stored);
  // A voice that came with the model. Throws DataError where there is none of that name.
  Voice own_voice(const std::string& name) const;
  // Throws DataError when no voice can be heard in the file.
  void check_clip(const std::filesystem::path& clip) const;

 private:
  struct HeardVoice {
    std::filesystem::file_time_type changed;
    Voice voice;
  };

  Voice heard(const std::vector<std::filesystem::path>& clips) const;

  const std::string name_;
  const SpeakingModel model_;
  Synthesizer synthesizer_;
  std::mutex listening_;                      // one voice is heard at a time
  std::map<std::string, HeardVoice> voices_;  // guarded by listening_
  SpeechQueue queue_;
};

// The models of the server: loaded when they are first wanted, and put away again when nobody has
// wanted one for a while. Any thread.
class ModelRegistry {
 public:
  explicit ModelRegistry(ModelRegistryOptions options);
  ModelRegistry(const ModelRegistry&) = delete;
  ModelRegistry& operator=(const ModelRegistry&) = delete;
  ~ModelRegistry();

  // Loads it if need be; empty: the first one. Whoever asks for a model that is being loaded waits.
  // Throws RequestError 404 for a name that is not served, and what loading throws.
  std::shared_ptr<LoadedModel> get(const std::string& name);

  std::vector<std::shared_ptr<LoadedModel>> loaded() const;
  const std::vector<ServedModel>& models() const { return options_.models; }

  // Waits until nothing is spoken any more; false: that took longer.
  bool wait_until_idle(std::chrono::milliseconds most) const;

 private:
  struct Entry {
    std::mutex loading;  // held by who loads it, so that others wait
    // Guarded by mutex_:
    std::shared_ptr<LoadedModel> model;
    std::chrono::steady_clock::time_point wanted;  // last time
  };

  void unload_unused();

  const ModelRegistryOptions options_;
  mutable std::mutex mutex_;
  std::condition_variable closing_changed_;
  bool is_closing_ = false;               // guarded by mutex_
  std::map<std::string, Entry> entries_;  // one for each model, from the beginning

  ThreadGroup threads_;  // last: its thread uses everything above
};

}  // namespace myxtts
