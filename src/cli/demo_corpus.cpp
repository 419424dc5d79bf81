// SPDX-License-Identifier: Apache-2.0
#include "cli/demo_corpus.h"

#include <array>
#include <system_error>

#include "base/atomic_file.h"
#include "base/checksum.h"
#include "base/error.h"
#include "base/progress.h"
#include "cli/child_process.h"

namespace myxtts {
namespace {

namespace fs = std::filesystem;

constexpr std::array kWho = {"the old sailor",    "my neighbour",     "a small brown dog",
                             "the teacher",       "our grandmother",  "a tired traveller",
                             "the youngest girl", "a careful farmer", "the night watchman"};
constexpr std::array kDoes = {"carried", "found",    "painted", "remembered",
                              "sold",    "repaired", "watched"};
constexpr std::array kWhat = {"a wooden boat",    "the yellow window", "seven silver coins",
                              "an empty garden",  "the broken clock",  "a bag of apples",
                              "the road to town", "a letter from home"};
constexpr std::array kWhen = {"before the rain came",   "on a quiet morning",
                              "while the others slept", "at the end of summer",
                              "without saying a word",  "and nobody noticed"};
constexpr std::array kVoices = {"en-us+m3", "en-gb+f2"};

}  // namespace

std::vector<std::string> SpeechSynthesiser::command(const std::string& text, int voice,
                                                    const fs::path& wav) const {
  if (is_flite) return {program, "-t", text, "-o", wav.string()};
  return {program, "-v",         kVoices[static_cast<std::size_t>(voice) % kVoices.size()],
          "-w",    wav.string(), text};
}

SpeechSynthesiser find_speech_synthesiser() {
  if (auto found = find_program("espeak-ng"); !found.empty()) return {.program = found};
  if (auto found = find_program("flite"); !found.empty()) {
    return {.program = found, .is_flite = true};
  }
  throw ConfigError(
      "The demo lets a speech synthesiser speak its corpus, and there is neither espeak-ng nor "
      "flite; type apt-get install -y espeak-ng as root.");
}

// The lists have lengths without a common divisor worth the name, so that going through all of them
// at once meets every combination before one comes again.
std::vector<std::string> demo_sentences(int count) {
  std::vector<std::string> sentences;
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
    std::string sentence =
        fmt::format("{} {} {} {}.", kWho[i % kWho.size()], kDoes[i % kDoes.size()],
                    kWhat[i % kWhat.size()], kWhen[(i / 7) % kWhen.size()]);
    sentence.front() = static_cast<char>(sentence.front() - 'a' + 'A');
    sentences.push_back(std::move(sentence));
  }
  return sentences;
}

void make_demo_corpus(const fs::path& folder, const SpeechSynthesiser& synthesiser, int clips) {
  std::error_code failed;
  fs::create_directories(folder / "wavs", failed);
  if (failed) {
    throw DataError(
        fmt::format("The folder {} cannot be made: {}.", folder.string(), failed.message()));
  }
  std::string metadata;
  int number = 0;
  Progress progress({.title = "Speaking clips", .total = static_cast<std::uint64_t>(clips)});
  for (const std::string& sentence : demo_sentences(clips)) {
    const std::string name = fmt::format("demo-{:03}", ++number);
    ChildProcess speaking(synthesiser.command(sentence, number, folder / "wavs" / (name + ".wav")));
    if (const int code = speaking.wait(); code != 0) {
      throw DataError(fmt::format("{} could not speak \"{}\": it ended with {}.",
                                  synthesiser.program, sentence, code));
    }
    metadata += fmt::format("{}|{}|{}\n", name, sentence, sentence);
    progress.advance();
  }
  write_file_atomically(folder / "metadata.csv", bytes_of(metadata));
}

}  // namespace myxtts
