// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

#include "config/model.h"
#include "model/named_tensors.h"

namespace myxtts::test {

// A tiny model with random weights and the golden vocabulary, in a folder.
struct TinyModel {
  ModelConfig config;
  NamedTensors model;
  NamedTensors dvae;
};
TinyModel write_tiny_model(const std::filesystem::path& folder);

// A wavering tone at 22,050 Hz as 16-bit WAV.
void write_tone(const std::filesystem::path& path, double hz, double seconds, double peak = 0.4);

// Clips "clip00".."clipNN" of 1.2 s and more in the layout of LJSpeech, about 14 characters a
// second.
void write_tone_corpus(const std::filesystem::path& folder, int clips);

// One more line of its metadata.csv; the file is the caller's.
void add_line(const std::filesystem::path& folder, const std::string& name,
              const std::string& text);

}  // namespace myxtts::test
