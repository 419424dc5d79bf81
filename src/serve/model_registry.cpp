// SPDX-License-Identifier: Apache-2.0
#include "serve/model_registry.h"

#include <algorithm>
#include <utility>

#include <fmt/ranges.h>

#include "base/error.h"
#include "base/log.h"
#include "base/message_text.h"
#include "http/request_error.h"
#include "synth/voice.h"

namespace myxtts {
namespace {

namespace fs = std::filesystem;

// The newest of the files.
fs::file_time_type changed(const StoredVoice& voice) {
  if (!voice.saved.empty()) return fs::last_write_time(voice.saved);
  auto newest = fs::file_time_type::min();
  for (const auto& clip : voice.clips) newest = std::max(newest, fs::last_write_time(clip));
  return newest;
}

SpeakingModel opened(const fs::path& folder) {
  SpeakingModel model = open_speaking_model(folder);
  read_ahead(model);
  return model;
}

}  // namespace

LoadedModel::LoadedModel(const ServedModel& served, const ModelRegistryOptions& options)
    : name_(served.name),
      model_(opened(served.folder)),
      synthesizer_(model_, options.device, options.places),
      queue_(synthesizer_, options.most_waiting) {}

Voice LoadedModel::voice_of(const StoredVoice& stored) {
  const std::lock_guard lock(listening_);
  const auto now = changed(stored);
  const auto known = voices_.find(stored.name);
  if (known != voices_.end() && known->second.changed == now) return known->second.voice;
  const Voice voice =
      stored.saved.empty() ? heard(stored.clips) : read_voice(stored.saved, model_.config);
  voices_[stored.name] = {now, voice};
  return voice;
}

Voice LoadedModel::heard(const std::vector<fs::path>& clips) const {
  const auto lengths = reference_lengths(model_.reference, model_.config.decoder.input_sample_rate);
  return synthesizer_.voice_of(read_references(model_, clips, lengths), lengths);
}

Voice LoadedModel::own_voice(const std::string& name) const {
  return read_speaker(model_.folder, name, model_.config);
}

void LoadedModel::check_clip(const fs::path& clip) const {
  const auto rate = model_.config.decoder.input_sample_rate;
  read_reference(clip, rate, reference_lengths(model_.reference, rate).of_each);
}

ModelRegistry::ModelRegistry(ModelRegistryOptions options) : options_(std::move(options)) {
  for (const auto& model : options_.models) entries_[model.name];
  if (options_.unload_after) threads_.start("unload", [this] { unload_unused(); });
}

ModelRegistry::~ModelRegistry() {
  const std::lock_guard lock(mutex_);
  is_closing_ = true;
  closing_changed_.notify_all();
}

std::shared_ptr<LoadedModel> ModelRegistry::get(const std::string& name) {
  const auto found = name.empty() ? options_.models.begin()
                                  : std::ranges::find(options_.models, name, &ServedModel::name);
  if (found == options_.models.end()) {
    std::vector<std::string> names;
    for (const auto& model : options_.models) names.push_back(model.name);
    throw RequestError(404, "model_not_found",
                       fmt::format("There is no model \"{}\" here; there is {}.", printable(name),
                                   fmt::join(names, ", ")),
                       "model");
  }
  Entry& entry = entries_.at(found->name);
  const std::lock_guard one_at_a_time(entry.loading);
  const auto kept = [&] {
    const std::lock_guard lock(mutex_);
    entry.wanted = std::chrono::steady_clock::now();
    return entry.model;
  }();
  if (kept) return kept;
  log_info("serve", "loading {}", found->folder.string());
  auto model = std::make_shared<LoadedModel>(*found, options_);
  const std::lock_guard lock(mutex_);
  entry.model = model;
  return model;
}

std::vector<std::shared_ptr<LoadedModel>> ModelRegistry::loaded() const {
  std::vector<std::shared_ptr<LoadedModel>> models;
  const std::lock_guard lock(mutex_);
  for (const auto& [name, entry] : entries_) {
    if (entry.model) models.push_back(entry.model);
  }
  return models;
}

bool ModelRegistry::wait_until_idle(std::chrono::milliseconds most) const {
  const auto end = std::chrono::steady_clock::now() + most;
  return std::ranges::all_of(loaded(), [&](const auto& model) {
    const auto left = end - std::chrono::steady_clock::now();
    return model->queue().wait_until_idle(
        std::chrono::ceil<std::chrono::milliseconds>(std::max(left, {})));
  });
}

// A model in use is held by whoever uses it, and counts as wanted.
void ModelRegistry::unload_unused() {
  constexpr auto kLook = std::chrono::milliseconds(200);
  std::unique_lock lock(mutex_);
  while (!closing_changed_.wait_for(lock, kLook, [this] { return is_closing_; })) {
    const auto now = std::chrono::steady_clock::now();
    for (auto& [name, entry] : entries_) {
      if (!entry.model) continue;
      if (entry.model.use_count() > 1) entry.wanted = now;
      if (now - entry.wanted < *options_.unload_after) continue;
      log_info("serve", "putting {} away: nobody asked for it in {}", name,
               human_duration(*options_.unload_after));
      entry.model.reset();
    }
  }
}

}  // namespace myxtts
