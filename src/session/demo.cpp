// SPDX-License-Identifier: Apache-2.0
#include "session/demo.h"

#include <array>
#include <cmath>
#include <map>
#include <sstream>
#include <system_error>

#include <ATen/ATen.h>
#include <nlohmann/json.hpp>

#include "audio/resample.h"
#include "base/atomic_file.h"
#include "base/checksum.h"
#include "base/child_process.h"
#include "base/error.h"
#include "base/files.h"
#include "base/interruption.h"
#include "base/progress.h"
#include "data/layouts/manifest.h"
#include "run/open_model.h"
#include "synth/clip_encoder.h"

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

// Speaks `text` into a WAV file, in one of a few voices.
std::vector<std::string> speaking_command(const std::string& program, const std::string& text,
                                          int voice, const fs::path& wav) {
  if (fs::path(program).filename() == "flite") return {program, "-t", text, "-o", wav.string()};
  return {program, "-v",         kVoices[static_cast<std::size_t>(voice) % kVoices.size()],
          "-w",    wav.string(), text};
}

}  // namespace

std::string find_speech_synthesiser() {
  for (const char* name : {"espeak-ng", "flite"}) {
    if (auto found = find_program(name); !found.empty()) return found;
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

void make_demo_corpus(const fs::path& folder, const std::string& synthesiser, int clips) {
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
    stop_if_interrupted();
    const std::string name = fmt::format("demo-{:03}", ++number);
    const fs::path wav = folder / "wavs" / (name + ".wav");
    ChildProcess speaking(speaking_command(synthesiser, sentence, number, wav));
    const int code = speaking.wait();
    stop_if_interrupted();  // which a terminal tells the synthesiser too
    if (code != 0) {
      throw DataError(
          fmt::format("{} could not speak \"{}\": it ended with {}.", synthesiser, sentence, code));
    }
    metadata += fmt::format("{}|{}|{}\n", name, sentence, sentence);
    progress.advance();
  }
  write_file_atomically(folder / "metadata.csv", bytes_of(metadata));
}

namespace {

constexpr std::size_t kLargestLog = std::size_t{256} << 20U;  // bytes
constexpr std::int64_t kStops = 4;  // targets behind each clip's codes, see Note [Packed rows]

using CodeCounts = std::map<std::int64_t, std::int64_t>;

CodeCounts count_codes(const fs::path& corpus, const OpenModel& model) {
  const ClipEncoder encoder(model, {});
  CodeCounts counts;
  const auto entries = read_manifest({.path = corpus}).entries;
  Progress progress({.title = "Counting codes", .total = entries.size()});
  for (const ManifestEntry& entry : entries) {
    stop_if_interrupted();
    const auto clip = read_clip(entry.audio, encoder.sample_rate());
    const auto codes = encoder.codes(encoder.mel_dvae(clip));
    const auto* code = codes.const_data_ptr<std::int64_t>();
    for (std::int64_t i = 0; i < codes.numel(); ++i) ++counts[code[i]];
    counts[model.config.gpt.stop_audio] += kStops;
    progress.advance();
  }
  return counts;
}

double entropy(const CodeCounts& counts) {
  double total = 0;
  for (const auto& [code, count] : counts) total += static_cast<double>(count);
  double sum = 0;
  for (const auto& [code, count] : counts) {
    const double share = static_cast<double>(count) / total;
    sum -= share * std::log(share);
  }
  return sum;
}

void read_metrics(const fs::path& file, DemoOutcome& outcome) {
  std::istringstream lines(read_text_file(file, "metrics", kLargestLog));
  for (std::string line; std::getline(lines, line);) {
    const auto json = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (!json.is_object() || !json.contains("audio_loss") || json["audio_loss"].is_null()) continue;
    auto& curve = json["event"] == "validation" ? outcome.validation : outcome.training;
    curve.insert_or_assign(json["step"].get<std::int64_t>(), json["audio_loss"].get<double>());
  }
}

}  // namespace

DemoOutcome demo_outcome(const fs::path& corpus, const fs::path& run) {
  const OpenModel model = open_model(run / "latest");
  DemoOutcome outcome{.blind = std::log(static_cast<double>(model.config.gpt.audio_ids)),
                      .by_frequency = entropy(count_codes(corpus, model))};
  read_metrics(run / "metrics.jsonl", outcome);
  return outcome;
}

std::string describe(const DemoOutcome& outcome) {
  std::string text = fmt::format(
      "\nHow well codes are predicted (nats a code; less is better):\n"
      "  guessing blindly among all of them      {:.3f}\n"
      "  knowing how frequent each one is        {:.3f}\n",
      outcome.blind, outcome.by_frequency);
  const auto add = [&text](const char* what, const DemoOutcome::Curve& curve) {
    if (curve.empty()) return;
    text +=
        fmt::format("  {:<38}  {:.3f} at step {}, {:.3f} at step {}\n", what, curve.begin()->second,
                    curve.begin()->first, curve.rbegin()->second, curve.rbegin()->first);
  };
  add("this run, on batches it trained on", outcome.training);
  add("this run, on clips it never saw", outcome.validation);
  const auto& judged = outcome.validation.empty() ? outcome.training : outcome.validation;
  if (judged.empty()) return text;
  return text + (judged.rbegin()->second < outcome.by_frequency
                     ? "The model has learnt what follows what: it beats the frequencies.\n"
                     : "The model does not beat the frequencies yet: it needs more steps.\n");
}

}  // namespace myxtts
