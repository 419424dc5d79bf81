// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "serve/speech_order.h"

namespace myxtts {

// Takes the next samples, 16 bits as floats; false ends the speech.
using OnRemoteSound = std::function<bool(std::span<const float> samples, std::int64_t sample_rate)>;

// Has the order spoken by the server at `url` ("http://127.0.0.1:8020"), which is `myxtts serve` or
// another with OpenAI's interface, and hands the sound over while it comes. `key` is empty where
// the server wants none. False: on_sound ended it. Throws DataError with the server's own words
// where it refuses, and with what to do where there is none.
bool speak_remotely(const std::string& url, const std::string& key, const SpeechOrder& order,
                    const OnRemoteSound& on_sound);

}  // namespace myxtts
