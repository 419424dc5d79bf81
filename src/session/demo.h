// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace myxtts {

// A program that speaks: espeak-ng, or flite where that is all there is. Throws ConfigError that
// says how to install one.
std::string find_speech_synthesiser();

// So many different English sentences of a few seconds each; always the same ones.
std::vector<std::string> demo_sentences(int count);

// A corpus in the layout of LJSpeech: the sentences as spoken by the synthesiser in two voices.
// Shows progress. Throws DataError, Interrupted.
void make_demo_corpus(const std::filesystem::path& folder, const std::string& synthesiser,
                      int clips);

// What training made of the codes of a corpus, and what two models would make of them that never
// learnt anything from sequences. Losses are nats for each code.
struct DemoOutcome {
  using Curve = std::map<std::int64_t, double>;  // the loss of codes by step

  double blind = 0;         // every code equally likely: the logarithm of their number
  double by_frequency = 0;  // each code as likely as it is frequent: their entropy
  Curve training = {};      // of single batches, as metrics.jsonl has them
  Curve validation = {};    // of clips that were not trained on
};

// Reads the run's metrics and computes the codes of every clip with the run's own frozen DVAE.
// Shows progress. Throws DataError, Interrupted.
DemoOutcome demo_outcome(const std::filesystem::path& corpus, const std::filesystem::path& run);

// A few lines, with a verdict.
std::string describe(const DemoOutcome& outcome);

}  // namespace myxtts
