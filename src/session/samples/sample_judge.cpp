// SPDX-License-Identifier: Apache-2.0
#include "session/samples/sample_judge.h"

#include <algorithm>
#include <map>
#include <utility>

#include <ATen/ATen.h>
#include <fmt/format.h>

#include "audio/resample.h"
#include "base/error.h"
#include "config/value_text.h"
#include "listen/character_errors.h"
#include "listen/whisper_files.h"
#include "model/reference_voice.h"
#include "model/speaker_encoder.h"

namespace myxtts {
namespace {

at::Tensor at_rate(const Sample& sample, std::int64_t rate) {
  return Resampler(sample.sample_rate, rate, at::kCPU)(sample.sound.to(at::kFloat)).clamp(-1, 1);
}

// [output_dim], of length one. What is too short to hear a voice in has silence behind it.
at::Tensor voice_of(const Sample& sample, const SpeakerEncoder& encoder, std::int64_t rate) {
  const auto sound = at_rate(sample, rate);
  const auto missing = std::max<std::int64_t>(0, shortest_reference_piece(rate) - sound.size(0));
  return encoder(at::constant_pad_nd(sound, {0, missing}).unsqueeze(0))[0];
}

double similarity_of(const SamplePair& pair, const SpeakerEncoder& encoder, std::int64_t rate) {
  return at::dot(voice_of(pair.sample, encoder, rate), voice_of(pair.recording, encoder, rate))
      .item<double>();
}

// A language that this Whisper does not know is left for it to guess.
std::string language_to_hear(const WhisperVocabulary& vocabulary, const std::string& language) {
  const std::string code = language.substr(0, language.find('-'));
  return vocabulary.language(code) >= 0 ? code : "";
}

}  // namespace

SampleJudge::SampleJudge(const std::filesystem::path& whisper)
    : transcriber_(open_whisper(whisper), at::kCPU) {}

SampleVerdict SampleJudge::operator()(
    const std::vector<SamplePair>& pairs, const OpenModel& model,
    const std::function<bool()>& wanted,
    const std::function<void(const SamplePair&, const HeardSample&)>& heard) const {
  std::map<std::string, std::vector<const SamplePair*>> by_language;
  for (const SamplePair& pair : pairs) by_language[pair.sample.language].push_back(&pair);
  const SpeakerEncoder encoder(model.config.speaker_encoder, model.model);
  CharacterErrors errors;
  double similarity = 0;  // sum
  for (const auto& [language, spoken] : by_language) {
    std::vector<at::Tensor> clips;
    for (const SamplePair* pair : spoken) clips.push_back(at_rate(pair->sample, kWhisperRate));
    // One by one, so that a run that is stopped does not wait for a batch.
    const TranscribeOptions options{
        .language = language_to_hear(transcriber_.vocabulary(), language), .batch = 1};
    const auto transcripts = transcriber_(clips, options, wanted);
    if (!wanted()) return {};
    for (std::size_t i = 0; i < spoken.size(); ++i) {
      const auto own = character_errors(spoken[i]->sample.text, transcripts[i].text, language);
      const double alike =
          similarity_of(*spoken[i], encoder, model.config.speaker_encoder.sample_rate);
      errors += own;
      similarity += alike;
      heard(*spoken[i], {.text = transcripts[i].text, .cer = own.rate(), .similarity = alike});
    }
  }
  if (pairs.empty() || !wanted()) return {};
  return {.samples = std::ssize(pairs),
          .cer = errors.rate(),
          .similarity = similarity / static_cast<double>(pairs.size())};
}

void check_judge(const RunConfig& config) {
  if (!config.run.judge) return;
  const WhisperFiles files = open_whisper(*config.run.judge);
  if (files.vocabulary.is_multilingual()) return;
  std::vector<std::string> languages{config.data.language};
  for (const CorpusSource& source : config.data.train_data) {
    languages.push_back(source.language.value_or(config.data.language));
  }
  for (const std::string& language : languages) {
    if (language.substr(0, language.find('-')) == "en") continue;
    throw ConfigError(fmt::format(
        "--judge {} knows English alone, and the run is in {}; take a Whisper whose name does not "
        "end in .en.",
        files.file.string(), language));
  }
}

std::string fault_of_judge(const RunConfig& config) {
  try {
    check_judge(config);
    return {};
  } catch (const Error& error) {
    return one_line(error.what());
  }
}

}  // namespace myxtts
