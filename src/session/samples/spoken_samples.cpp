// SPDX-License-Identifier: Apache-2.0
#include "session/samples/spoken_samples.h"

#include <sstream>
#include <utility>

#include <ATen/ATen.h>

#include "base/error.h"
#include "base/paths.h"
#include "model/dvae.h"
#include "session/samples/mel_picture.h"
#include "synth/decode_engine.h"
#include "synth/seam.h"
#include "synth/synthesizer.h"

namespace myxtts {
namespace {

constexpr std::size_t kLargestFile = 1 << 20;  // bytes
constexpr std::int64_t kCodeStride = 1024;     // samples of a code
constexpr std::int64_t kMuchLonger = 3;        // than the recording: it will not stop by itself

std::span<float> values_of(at::Tensor& samples) {
  return {samples.mutable_data_ptr<float>(), static_cast<std::size_t>(samples.numel())};
}

std::vector<TextPiece> pieces_of(const std::string& text, const std::string& language,
                                 const SpeakingModel& model) {
  const Language spoken = parse_language(language);
  const TextEncoder encoder(model.vocabulary, spoken);
  return text_pieces(text, spoken, encoder, most_text_tokens(model.config.gpt));
}

// What the DVAE hears in codes, as ln power.
at::Tensor mel_of_codes(const Dvae& dvae, const OpenModel& model, std::vector<std::int64_t> codes) {
  std::erase_if(codes, [&](std::int64_t code) { return code >= model.config.gpt.start_audio; });
  if (codes.empty()) return at::zeros({dvae_mel_config().bands, 1}) - 100.0;
  const auto row = at::tensor(codes, at::kLong).unsqueeze(0);
  const auto mel = dvae.decode(dvae.look_up(row)).squeeze(0);  // [bands, F]
  return mel * model.model.at("mel_stats").unsqueeze(1);
}

// Says one text, piece after piece.
class OneText {
 public:
  OneText(Synthesizer& synthesizer, const SpokenText& text, const SampleMaker::Wanted& wanted)
      : synthesizer_(synthesizer), text_(text), wanted_(wanted) {}

  // False: nobody wants it any more.
  bool speak(const Voice& voice, const SamplingSettings& sampling) {
    for (std::size_t piece = 0; piece < text_.pieces.size(); ++piece) {
      auto spoken = synthesizer_.speak({&text_.pieces[piece], 1}, voice, {.sampling = sampling},
                                       [this](std::int64_t count) { return go_on(count); });
      if (!wanted_()) return false;
      const auto length = seam_length(synthesizer_.sample_rate());
      const auto samples = values_of(spoken.front().samples);
      if (piece > 0) fade_in(samples, length);
      if (piece + 1 < text_.pieces.size()) fade_out(samples, length);
      sound_.push_back(spoken.front().samples);
      codes_.insert(codes_.end(), spoken.front().codes.begin(), spoken.front().codes.end());
    }
    return true;
  }

  at::Tensor sound() const { return at::cat(sound_); }
  const std::vector<std::int64_t>& codes() const { return codes_; }

 private:
  bool go_on(std::int64_t count) {
    made_ += count;
    return wanted_() && (text_.most_codes == 0 || made_ < text_.most_codes);
  }

  Synthesizer& synthesizer_;
  const SpokenText& text_;
  const SampleMaker::Wanted& wanted_;
  std::int64_t made_ = 0;  // codes
  std::vector<at::Tensor> sound_;
  std::vector<std::int64_t> codes_;
};

}  // namespace

std::vector<SpokenText> sentences_of_file(const std::filesystem::path& file,
                                          const std::string& language, const SpeakingModel& model,
                                          const std::filesystem::path& reference) {
  std::vector<SpokenText> texts;
  std::istringstream lines(read_text_file(file, "file of sentences", kLargestFile));
  for (std::string line; std::getline(lines, line);) {
    auto pieces = pieces_of(line, language, model);
    if (!pieces.empty()) texts.push_back({.pieces = std::move(pieces), .reference = reference});
  }
  if (texts.empty()) {
    throw DataError(fmt::format("{} holds no sentence; write one a line.", file.string()));
  }
  return texts;
}

std::vector<SpokenText> texts_of_clips(const std::vector<SampleClip>& clips,
                                       const SpeakingModel& model) {
  std::vector<SpokenText> texts;
  for (const SampleClip& clip : clips) {
    texts.push_back({.pieces = pieces_of(clip.text, clip.language, model),
                     .reference = clip.audio,
                     .most_codes = kMuchLonger * clip.samples / kCodeStride + 1});
  }
  return texts;
}

SpokenSamples::SpokenSamples(SpeakingModel model, std::vector<SpokenText> texts)
    : model_(std::move(model)), texts_(std::move(texts)) {}

void SpokenSamples::make(const OpenModel& model, const Take& take, const Wanted& wanted) {
  model_.tensors = model.model;
  Synthesizer synthesizer(model_, c10::kCPU, 1);
  const Dvae dvae(model.config.dvae, model.dvae);
  const auto lengths = reference_lengths(model.reference, model.config.decoder.input_sample_rate);
  const ReferenceTreatment treatment{.most_samples = lengths.of_each,
                                     .even_loudness = model.reference.sound_norm_refs};
  for (std::size_t number = 0; number < texts_.size() && wanted(); ++number) {
    OneText text(synthesizer, texts_[number], wanted);
    const Voice voice = synthesizer.voice_of({texts_[number].reference}, treatment, lengths);
    if (!text.speak(voice, model_.sampling)) return;
    const auto sound = text.sound();
    take({.name = fmt::format("{:02}", number + 1),
          .sound = sound,
          .sample_rate = synthesizer.sample_rate(),
          .picture = mel_picture({mel_of_codes(dvae, model, text.codes()),
                                  log_mel(sound, synthesizer.sample_rate())})});
  }
}

}  // namespace myxtts
