// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace myxtts {

// A program that speaks: espeak-ng, or flite where that is all there is.
struct SpeechSynthesiser {
  std::string program = {};
  bool is_flite = false;

  // Speaks `text` into a WAV file, in one of a few voices.
  std::vector<std::string> command(const std::string& text, int voice,
                                   const std::filesystem::path& wav) const;
};

// Throws ConfigError that says how to install one.
SpeechSynthesiser find_speech_synthesiser();

// So many different English sentences of a few seconds each; always the same ones.
std::vector<std::string> demo_sentences(int count);

// A corpus in the layout of LJSpeech: the sentences as spoken by the synthesiser in two voices.
// Shows progress. Throws DataError.
void make_demo_corpus(const std::filesystem::path& folder, const SpeechSynthesiser& synthesiser,
                      int clips);

}  // namespace myxtts
