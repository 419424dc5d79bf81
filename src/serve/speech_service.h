// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "serve/model_registry.h"
#include "serve/server_metrics.h"
#include "serve/speech_order.h"
#include "serve/voice_store.h"
#include "synth/speech.h"

namespace myxtts {

// How long sound is waited for before it is looked whether anybody still listens.
inline constexpr std::chrono::milliseconds kSoundWait{20};

// A request that is being spoken.
struct StartedSpeech {
  std::shared_ptr<Speech> speech;
  std::shared_ptr<LoadedModel> model;  // stays loaded while it speaks
  std::int64_t text_tokens = 0;
  std::string language = {};  // that was taken
};

// The languages that a model has learnt, by the codes that a user types.
std::vector<std::string> spoken_languages(const SpeakingModel& model);

// What the server can do, whichever protocol asks for it. Any thread. Throws RequestError.
class SpeechService {
 public:
  // `language`: of texts whose request names none and whose letters do not tell.
  SpeechService(ModelRegistryOptions models, std::filesystem::path voices, std::string language);

  // Begins to speak. Throws RequestError 429 when too many wait.
  StartedSpeech say(const SpeechOrder& order);

  // Those of the folder and those that came with the model, by name.
  std::vector<std::string> voice_names(const std::string& model = {});
  void add_voice(const std::string& name, std::span<const std::string> clips);

  ServerState state() const;

  ModelRegistry& models() { return models_; }
  VoiceStore& voices() { return voices_; }
  const std::string& language() const { return language_; }

 private:
  Voice voice(LoadedModel& model, const std::string& name);
  std::string language_of(const SpeechOrder& order) const;
  std::string model_of(const SpeechOrder& order) const;

  ModelRegistry models_;
  VoiceStore voices_;
  const std::string language_;
};

}  // namespace myxtts
