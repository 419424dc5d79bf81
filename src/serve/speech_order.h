// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "audio/sound_encoder.h"
#include "synth/sampling.h"

namespace myxtts {

// What a request asks to be said, and how. What is not given is the model's or the server's.
struct SpeechOrder {
  std::string text;
  std::string voice;
  std::string model;
  std::string language;
  SoundFormat format = SoundFormat::Mp3;
  bool as_events = false;  // in server-sent events, not as a sound file
  double speed = 1.0;
  std::int64_t chunk_codes = 20;  // between two parts of the sound

  SamplingChoice sampling = {};

  std::vector<std::string> ignored = {};  // fields that came and change nothing here
};

// The body of OpenAI's POST /v1/audio/speech; beside its fields also language, seed and those of
// sampling. Throws RequestError that names the field at fault.
SpeechOrder parse_openai_order(std::string_view body, std::size_t most_bytes_of_text);

// What xtts-api-server keeps between requests, and its clients send numbers of as texts too.
struct XttsSettings {
  double temperature = 0.75;
  double speed = 1.0;
  double length_penalty = 1.0;
  double repetition_penalty = 5.0;
  double top_p = 0.85;
  std::int64_t top_k = 50;
  bool enable_text_splitting = true;
  std::int64_t stream_chunk_size = 20;  // codes
};
std::string print_xtts_settings(const XttsSettings& settings);
// Those that the body of /set_tts_settings names over the others. Throws RequestError.
XttsSettings parse_xtts_settings(std::string_view body, XttsSettings settings);

// The body of its POST /tts_to_audio/, /tts_stream and /tts_to_file: text, speaker_wav, language.
SpeechOrder parse_xtts_order(std::string_view body, const XttsSettings& settings,
                             std::size_t most_bytes_of_text);

// Throws RequestError for a text that is empty, too long or not UTF-8.
void check_text(const std::string& text, std::size_t most_bytes, const char* field);

}  // namespace myxtts
