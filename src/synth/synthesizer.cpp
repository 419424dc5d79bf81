// SPDX-License-Identifier: Apache-2.0
#include "synth/synthesizer.h"

#include <utility>

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>

#include "base/error.h"
#include "synth/generate.h"
#include "synth/stream_joiner.h"

namespace myxtts {
namespace {

constexpr std::int64_t kCodesBetweenReports = 10;

NamedTensors on_device(const NamedTensors& tensors, c10::Device device) {
  NamedTensors result;
  for (const auto& [name, tensor] : tensors) result[name] = tensor.to(device);
  return result;
}

std::span<const float> values_of(const at::Tensor& samples) {
  return {samples.const_data_ptr<float>(), static_cast<std::size_t>(samples.numel())};
}

at::Tensor to_host(const at::Tensor& tensor) {
  return tensor.to(at::kCPU).contiguous();
}

at::Tensor with_speed(const at::Tensor& states, double speed) {
  return change_speed(states.unsqueeze(0), speed).squeeze(0);
}

// Tells how many codes came since the last call, over all rows.
CodeListener count_codes(const Synthesizer::OnCodes& on_codes, std::vector<std::size_t>& told) {
  return {.every = kCodesBetweenReports, .hear = [&](const RowSoFar& row) {
            const auto before = std::exchange(told[row.row], row.codes.size());
            return !on_codes || on_codes(static_cast<std::int64_t>(row.codes.size() - before));
          }};
}

}  // namespace

Synthesizer::Synthesizer(const SpeakingModel& model, c10::Device device, std::int64_t rows)
    : model_(model),
      device_(device),
      rows_(rows),
      tensors_(on_device(model.tensors, device)),
      gpt_(model.config.gpt, tensors_),
      speaker_encoder_(model.config.speaker_encoder, tensors_),
      reference_(gpt_, speaker_encoder_, tensors_.at("mel_stats"),
                 model.config.decoder.input_sample_rate, model.config.speaker_encoder.sample_rate),
      decoder_(model.config.decoder, tensors_),
      vocoder_(decoder_, model.config.decoder),
      engine_(make_decode_engine(model.config.gpt, tensors_, {.rows = rows}, device)) {}

std::int64_t Synthesizer::sample_rate() const {
  return model_.config.decoder.output_sample_rate;
}

std::int64_t Synthesizer::most_text_tokens() const {
  return myxtts::most_text_tokens(model_.config.gpt);
}

Voice Synthesizer::voice_of(const std::vector<std::filesystem::path>& references,
                            const ReferenceTreatment& treatment,
                            const ReferenceLengths& lengths) const {
  const c10::AutoGradMode no_gradients(false);
  std::vector<at::Tensor> clips;
  for (const auto& path : references) {
    clips.push_back(
        read_reference(path, model_.config.decoder.input_sample_rate, treatment).to(device_));
  }
  return reference_(clips, lengths);
}

SpokenPiece Synthesizer::finish(GeneratedRow row, const Voice& voice, double speed) const {
  const auto latents = with_speed(row.states, speed);
  const auto samples = vocoder_(latents, voice.speaker.to(device_));
  return {std::move(row.codes), to_host(latents), to_host(samples), row.stopped};
}

std::vector<SpokenPiece> Synthesizer::speak(std::span<const TextPiece> pieces, const Voice& voice,
                                            const SpeakSettings& settings,
                                            const OnCodes& on_codes) {
  const c10::AutoGradMode no_gradients(false);
  std::vector<DecodePrefix> prefixes;
  for (const auto& piece : pieces) prefixes.push_back({voice.latents, piece.ids, piece.number});
  std::vector<GeneratedRow> rows;
  if (settings.sampling.beams > 1) {
    for (const auto& prefix : prefixes) {
      rows.push_back(generate_with_beams(*engine_, prefix, settings.sampling));
      if (on_codes && !on_codes(static_cast<std::int64_t>(rows.back().codes.size()))) break;
    }
  } else {
    std::vector<std::size_t> told(pieces.size(), 0);
    rows = engine_->generate(prefixes, settings.sampling, count_codes(on_codes, told));
  }
  std::vector<SpokenPiece> spoken;
  for (auto& row : rows) spoken.push_back(finish(std::move(row), voice, settings.speed));
  return spoken;
}

SpokenPiece Synthesizer::stream(const TextPiece& piece, const Voice& voice,
                                const SpeakSettings& settings, const StreamSettings& streaming,
                                const OnSound& on_sound) {
  const c10::AutoGradMode no_gradients(false);
  const auto speaker = voice.speaker.to(device_);
  StreamJoiner joiner(streaming.overlap);
  std::vector<at::Tensor> sent;
  const auto hear = [&](const RowSoFar& row) {
    const auto latents = with_speed(row.states, settings.speed);
    const auto samples = to_host(vocoder_.from(joiner.first_wanted(), latents, speaker));
    const auto sound = joiner.add(values_of(samples), row.ended);
    sent.push_back(at::tensor(sound, at::kFloat));
    return on_sound(sound, row.ended);
  };
  const std::vector<DecodePrefix> prefixes = {{voice.latents, piece.ids, piece.number}};
  auto row = std::move(
      engine_->generate(prefixes, settings.sampling, {.every = streaming.chunk_codes, .hear = hear})
          .front());
  const auto latents = to_host(with_speed(row.states, settings.speed));
  return {std::move(row.codes), latents, at::cat(sent), row.stopped};
}

}  // namespace myxtts
