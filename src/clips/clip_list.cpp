// SPDX-License-Identifier: Apache-2.0
#include "clips/clip_list.h"

#include <algorithm>
#include <span>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "text/unicode.h"

namespace myxtts {
// --- Texts ----------------------------------------------------------------------------------

std::string_view name_of(TextSource source) {
  switch (source) {
    case TextSource::Book:
      return "book";
    case TextSource::Subtitles:
      return "subtitles";
    case TextSource::Transcription:
      break;
  }
  return "transcription";
}

namespace {

std::span<const TimedWord> words_between(std::span<const TimedWord> words, double begin,
                                         double end) {
  const auto place_of = [&](double second) {
    return std::ranges::partition_point(
        words, [&](const TimedWord& word) { return (word.begin + word.end) / 2 < second; });
  };
  return {place_of(begin), place_of(end)};
}

}  // namespace

ClipText transcribed_text(const std::vector<TimedWord>& words, double begin, double end) {
  ClipText clip{.source = TextSource::Transcription};
  double letters = 0;
  double right = 0;
  for (const TimedWord& word : words_between(words, begin, end)) {
    clip.text += word.text;
    const auto length = static_cast<double>(count_code_points(strip_spaces(word.text)));
    constexpr double kGuess = 0.2;
    constexpr double kFewLetters = 4;
    if (length >= kFewLetters && word.probability < kGuess) {
      clip.doubt = "The recogniser is not sure of its words.";
    }
    letters += length;
    right += length * word.probability;
  }
  clip.text = strip_spaces(clip.text);
  clip.heard = clip.text;
  // Measured: of three letters that the probabilities give up one is wrong at most.
  constexpr double kWrongOfUnsure = 1.0 / 3;
  clip.confidence = letters == 0 ? 0 : 1 - kWrongOfUnsure * (1 - right / letters);
  return clip;
}

// --- Records --------------------------------------------------------------------------------

namespace {

using Json = nlohmann::ordered_json;

constexpr int kVersion = 1;

Json json_of(const MadeClip& clip) {
  return {{"name", clip.name},
          {"begin", clip.begin},
          {"end", clip.end},
          {"text", clip.text.text},
          {"heard", clip.text.heard},
          {"source", static_cast<int>(clip.text.source)},
          {"confidence", clip.text.confidence},
          {"doubt", clip.text.doubt},
          {"level", clip.sound.level},
          {"snr", clip.sound.snr},
          {"clipped", clip.sound.clipped},
          {"speech", clip.sound.speech},
          {"voice", clip.voice}};
}

MadeClip clip_of_json(const Json& json) {
  return {.name = json.at("name"),
          .begin = json.at("begin"),
          .end = json.at("end"),
          .text = {.source = static_cast<TextSource>(json.at("source").get<int>()),
                   .text = json.at("text"),
                   .heard = json.at("heard"),
                   .confidence = json.at("confidence"),
                   .doubt = json.at("doubt")},
          .sound = {.level = json.at("level"),
                    .snr = json.at("snr"),
                    .clipped = json.at("clipped"),
                    .speech = json.at("speech")},
          .voice = json.at("voice")};
}

Json json_of(const LeftOut& stretch) {
  return {{"begin", stretch.begin},
          {"end", stretch.end},
          {"reason", stretch.reason.name},
          {"sentence", stretch.reason.sentence},
          {"text", stretch.text}};
}

LeftOut stretch_of_json(const Json& json) {
  return {.begin = json.at("begin"),
          .end = json.at("end"),
          .reason = {.name = json.at("reason"), .sentence = json.at("sentence")},
          .text = json.at("text")};
}

}  // namespace

std::string to_json(const RecordingClips& made) {
  Json clips = Json::array();
  for (const auto& clip : made.clips) clips.push_back(json_of(clip));
  Json left_out = Json::array();
  for (const auto& stretch : made.left_out) left_out.push_back(json_of(stretch));
  Json voices = Json::array();
  for (const auto& voice : made.voices) {
    voices.push_back({{"seconds", voice.seconds}, {"vector", voice.vector}});
  }
  const Json json = {{"version", kVersion},
                     {"recording", made.recording},
                     {"file", made.file},
                     {"made_from", made.made_from},
                     {"error", made.error},
                     {"damage", made.damage},
                     {"language", made.language},
                     {"seconds", made.seconds},
                     {"speech_seconds", made.speech_seconds},
                     {"clips", clips},
                     {"left_out", left_out},
                     {"voices", voices}};
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

RecordingClips parse_recording_clips(std::string_view text, const std::string& subject) {
  try {
    const Json json = Json::parse(text);
    if (json.at("version") != kVersion) {
      throw DataError(
          fmt::format("{} was written by another version of this program. Remove it; "
                      "its recording is then done again.",
                      subject));
    }
    RecordingClips made{.recording = json.at("recording"),
                        .file = json.at("file"),
                        .made_from = json.at("made_from"),
                        .error = json.at("error"),
                        .damage = json.at("damage"),
                        .language = json.at("language"),
                        .seconds = json.at("seconds"),
                        .speech_seconds = json.at("speech_seconds")};
    for (const auto& clip : json.at("clips")) made.clips.push_back(clip_of_json(clip));
    for (const auto& stretch : json.at("left_out")) {
      made.left_out.push_back(stretch_of_json(stretch));
    }
    for (const auto& voice : json.at("voices")) {
      made.voices.push_back({.vector = voice.at("vector"), .seconds = voice.at("seconds")});
    }
    return made;
  } catch (const Json::exception& error) {
    throw DataError(fmt::format("{} is damaged ({}). Remove it; its recording is then done again.",
                                subject, error.what()));
  }
}

}  // namespace myxtts
