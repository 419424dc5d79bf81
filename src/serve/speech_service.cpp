// SPDX-License-Identifier: Apache-2.0
#include "serve/speech_service.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include <fmt/ranges.h>

#include "base/error.h"
#include "base/message_text.h"
#include "http/request_error.h"
#include "run/model_folder.h"
#include "synth/text_pieces.h"
#include "synth/voice.h"
#include "text/language.h"
#include "text/tokenizer.h"

namespace myxtts {
namespace {

constexpr std::size_t kShownNames = 20;

void require_language(Language language, const SpeakingModel& model) {
  if (model.vocabulary.find(language_tag(language))) return;
  throw RequestError(400, "invalid_language",
                     fmt::format("The model does not speak \"{}\"; it speaks {}.",
                                 language_code(language), fmt::join(spoken_languages(model), ", ")),
                     "language");
}

// What is wrong with a request by the sentence of an error that reading it threw.
template <typename Work>
auto as_request_error(const char* code, const char* field, const Work& work) {
  try {
    return work();
  } catch (const ConfigError& error) {
    throw RequestError(400, code, error.what(), field);
  } catch (const DataError& error) {
    throw RequestError(400, code, error.what(), field);
  }
}

// Texts are cut where the model, its vocabulary and its language say, and their marks or SSML.
TextPieces pieces_of(const std::string& text, const std::string& language,
                     const SpeakingModel& model) {
  const Language spoken =
      as_request_error("invalid_language", "language", [&] { return parse_language(language); });
  require_language(spoken, model);
  return as_request_error("invalid_text", "input", [&] {
    TextCutter cutter(model.vocabulary, spoken, most_text_tokens(model.config.gpt));
    return cutter.cut(text, "The text");
  });
}

}  // namespace

std::vector<std::string> spoken_languages(const SpeakingModel& model) {
  std::vector<std::string> codes;
  for (const Language language : all_languages()) {
    if (model.vocabulary.find(language_tag(language))) codes.push_back(language_code(language));
  }
  return codes;
}

SpeechService::SpeechService(ModelRegistryOptions models, std::filesystem::path voices,
                             std::string language)
    : models_(std::move(models)), voices_(std::move(voices)), language_(std::move(language)) {}

// What OpenAI calls its own models, and clients send to everybody, means the first of ours.
std::string SpeechService::model_of(const SpeechOrder& order) const {
  constexpr std::array<std::string_view, 3> kOpenAis = {"tts-1", "tts-1-hd", "gpt-4o-mini-tts"};
  const bool is_served = std::ranges::any_of(
      models_.models(), [&](const ServedModel& model) { return model.name == order.model; });
  const bool is_openais = std::ranges::find(kOpenAis, order.model) != kOpenAis.end();
  return is_openais && !is_served ? std::string() : order.model;
}

StartedSpeech SpeechService::say(const SpeechOrder& order) {
  StartedSpeech started{.speech = {}, .model = models_.get(model_of(order))};
  LoadedModel& model = *started.model;
  started.language = language_of(order);
  SpeechRequest request{
      .text = pieces_of(order.text, started.language, model.model()),
      .voices = voice(model, order.voice),
      .settings = {.sampling = sampling_of(order.sampling, model.model().sampling),
                   .speed = order.speed},
      .chunk_codes = order.chunk_codes};
  for (const auto& piece : request.text.pieces) {
    started.text_tokens += static_cast<std::int64_t>(piece.ids.size());
    auto& named = request.voices.by_name;
    if (!piece.voice.empty() && !named.contains(piece.voice)) {
      named.emplace(piece.voice, voice(model, piece.voice));
    }
  }
  started.speech = model.queue().say(std::move(request));
  if (started.speech) return started;
  throw RequestError(
      429, "server_busy",
      "The server speaks as much as it can and as many wait as may; ask again soon.");
}

// A language that the letters rule out is not taken for one that they tell.
std::string SpeechService::language_of(const SpeechOrder& order) const {
  if (!order.language.empty()) return order.language;
  const auto script = script_of(order.text);
  if (script.empty() || uses_script(parse_language(language_), script)) return language_;
  const std::string likely = likely_language(order.text, script);
  return likely.empty() ? language_ : likely;
}

Voice SpeechService::voice(LoadedModel& model, const std::string& name) {
  const auto stored = voices_.find(name);
  if (stored) {
    return as_request_error("bad_voice", "voice", [&] { return model.voice_of(*stored); });
  }
  const auto names = voice_names(model.name());
  if (std::ranges::find(names, name) != names.end()) return model.own_voice(name);
  const auto shown = std::span(names).first(std::min(names.size(), kShownNames));
  throw RequestError(
      400, "voice_not_found",
      names.empty()
          ? fmt::format("There is no voice \"{}\", and none at all: put clips into the folder that "
                        "--voices names, or send one to POST /v1/audio/voices.",
                        printable(name))
          : fmt::format("There is no voice \"{}\"; there is {}{}.", printable(name),
                        fmt::join(shown, ", "),
                        names.size() > shown.size()
                            ? fmt::format(" and {} more", names.size() - shown.size())
                            : ""),
      "voice");
}

std::vector<std::string> SpeechService::voice_names(const std::string& model) {
  std::vector<std::string> names;
  for (const auto& voice : voices_.list()) names.push_back(voice.name);
  const auto own = speaker_names(models_.get(model)->model().folder);
  names.insert(names.end(), own.begin(), own.end());
  std::ranges::sort(names);
  const auto repeated = std::ranges::unique(names);
  names.erase(repeated.begin(), repeated.end());
  return names;
}

void SpeechService::add_voice(const std::string& name, std::span<const std::string> clips) {
  const auto model = models_.get({});
  as_request_error("bad_clip", "audio_sample", [&] {
    voices_.add(name, clips, [&](const std::filesystem::path& clip) { model->check_clip(clip); });
  });
}

ServerState SpeechService::state() const {
  ServerState state;
  for (const auto& model : models_.loaded()) {
    const SpeechLoad load = model->queue().load();
    state.places += load.places;
    state.used += load.used;
    state.talks += load.talks;
    state.waiting += load.waiting;
    ++state.models_loaded;
  }
  return state;
}

}  // namespace myxtts
