// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace myxtts {

// What sound is sent as, by the names that OpenAI's interface has for them.
enum class SoundFormat { Mp3, Opus, Aac, Flac, Wav, Pcm };

std::optional<SoundFormat> parse_sound_format(std::string_view name);
std::vector<std::string> sound_format_names();
const char* name_of(SoundFormat format);
// "audio/mpeg" and so on.
std::string mime_type_of(SoundFormat format, std::int64_t sample_rate);

// Turns sound into the bytes of a format while it is made: mono, 16 bits or what the format has.
//
// What was given out is not changed any more, so a WAV says in its header that its length is not
// known, as OpenAI's does. One thread at a time.
class SoundEncoder {
 public:
  virtual ~SoundEncoder() = default;

  // The bytes that are ready. Values beyond ±1 are clipped.
  virtual std::string add(std::span<const float> samples) = 0;
  // The rest of them.
  virtual std::string finish() = 0;
};

// Throws ConfigError with what to install when this machine has no encoder for the format.
std::unique_ptr<SoundEncoder> make_sound_encoder(SoundFormat format, std::int64_t sample_rate);

// A whole WAV, whose header says how long it is.
std::string wav_of(std::span<const float> samples, std::int64_t sample_rate);

}  // namespace myxtts
