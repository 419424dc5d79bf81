// SPDX-License-Identifier: Apache-2.0
#include "synth/synthesizer.h"

#include <algorithm>
#include <utility>

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>

#include "base/error.h"
#include "base/progress.h"
#include "model/checkpoint_specs.h"
#include "model/gpt.h"
#include "model/speaker_encoder.h"
#include "model/vocoder.h"
#include "run/model_folder.h"
#include "synth/decode_engine.h"
#include "synth/sampling.h"
#include "weights/tensor_files.h"

namespace myxtts {
namespace {

namespace fs = std::filesystem;

bool has_any(const SafetensorsReader& file, const std::string& prefix) {
  return std::ranges::any_of(file.tensors(),
                             [&](const auto& entry) { return entry.first.starts_with(prefix); });
}

void require_part(const SafetensorsReader& file, const std::string& prefix, const char* part,
                  const char* stage, const fs::path& folder) {
  if (has_any(file, prefix)) return;
  throw DataError(
      fmt::format("{} has no weights of {} ({}…): the stage \"{}\" has not been trained, so the "
                  "model cannot speak yet. Train it with: myxtts train --stage {} --init {} "
                  "--train-data CLIPS",
                  file.file()->path().string(), part, prefix, stage, stage, folder.string()));
}

// A part that is missing altogether is a stage to be trained; anything else is a broken file.
void require_parts(const SafetensorsReader& file, const fs::path& folder) {
  require_part(file, kGptPrefix, "the GPT, which turns text into codes", "gpt", folder);
  require_part(file, kDecoderPrefix, "the decoder, which turns codes into sound", "decoder",
               folder);
  if (!has_any(file, kSpeakerEncoderPrefix)) {
    throw DataError(fmt::format(
        "{} has no weights of the speaker encoder ({}…), which tells voices apart: take a whole "
        "model, such as a training makes, or myxtts import --from PUBLIC_MODEL --out DIR",
        file.file()->path().string(), kSpeakerEncoderPrefix));
  }
}

}  // namespace

SpeakingModel open_speaking_model(const fs::path& folder) {
  if (!fs::is_directory(folder)) {
    throw DataError(fmt::format(
        "{} is not a model folder; name one with config.json, vocab.json and model.safetensors, "
        "such as myxtts import makes.",
        folder.string()));
  }
  const std::string json = read_config_text(folder);
  const std::string subject = (folder / files::kConfig).string();
  SpeakingModel model{.folder = folder,
                      .config = parse_model_config(json, subject),
                      .reference = parse_reference_config(json, subject),
                      .sampling = parse_sampling_settings(json, subject),
                      .vocabulary = Vocabulary::load(folder / files::kVocabulary),
                      .tensors = {}};
  {
    const SafetensorsReader file(folder / files::kModel);
    require_parts(file, folder);
    require_tensors(file, checkpoint_specs(model.config));
  }
  model.tensors = read_tensors(folder / files::kModel);
  for (auto& [name, tensor] : model.tensors) {
    if (tensor.is_floating_point()) tensor = tensor.to(at::kFloat);
  }
  if (model.vocabulary.rows() > model.config.gpt.text_ids) {
    throw DataError(fmt::format(
        "{} has {} ids and the model only {}; take the vocabulary that the model was trained with.",
        (folder / files::kVocabulary).string(), model.vocabulary.rows(),
        model.config.gpt.text_ids));
  }
  return model;
}

void read_ahead(const SpeakingModel& model) {
  std::uint64_t total = 0;
  for (const auto& [name, tensor] : model.tensors) total += tensor.nbytes();
  Progress progress({.title = "Loading the model",
                     .total = total,
                     .unit = ProgressOptions::Unit::Bytes,
                     .at_once = true});
  for (const auto& [name, tensor] : model.tensors) {
    require_finite(name, tensor, model.folder / files::kModel);
    progress.advance(tensor.nbytes());
  }
}

namespace {

constexpr std::int64_t kCodesBetweenReports = 10;
constexpr std::int64_t kStreamOverlap = 1024;  // samples that pieces are faded into each other over

std::span<const float> values_of(const at::Tensor& samples) {
  return {samples.const_data_ptr<float>(), static_cast<std::size_t>(samples.numel())};
}

at::Tensor to_host(const at::Tensor& tensor) {
  return tensor.to(at::kCPU).contiguous();
}

at::Tensor with_speed(const at::Tensor& states, double speed) {
  return change_speed(states.unsqueeze(0), speed).squeeze(0);
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

std::vector<at::Tensor> read_references(const SpeakingModel& model,
                                        const std::vector<std::filesystem::path>& references,
                                        const ReferenceLengths& lengths,
                                        std::optional<double> trim_db) {
  std::vector<at::Tensor> clips;
  for (const auto& path : references) {
    clips.push_back(read_reference(path, model.config.decoder.input_sample_rate, lengths.of_each,
                                   model.reference.sound_norm_refs, trim_db));
  }
  return clips;
}

Voice Synthesizer::voice_of(const std::vector<at::Tensor>& clips,
                            const ReferenceLengths& lengths) const {
  const c10::AutoGradMode no_gradients(false);
  std::vector<at::Tensor> placed;
  for (const at::Tensor& clip : clips) placed.push_back(clip.to(device_));
  return reference_(placed, lengths);
}

SpokenPiece Synthesizer::finish(GeneratedRow row, const TextPiece& piece, const Voices& voices,
                                double speed) const {
  const auto latents = with_speed(row.states, speed * piece.rate);
  const auto samples = vocoder_(latents, voices.of(piece.voice).speaker.to(device_));
  return {std::move(row.codes), to_host(latents), to_host(samples), row.stopped};
}

void Synthesizer::speak(std::span<const TextPiece> pieces, const Voices& voices,
                        const SpeakSettings& settings, const OnCodes& on_codes,
                        const OnPiece& on_piece) {
  const c10::AutoGradMode no_gradients(false);
  std::vector<DecodePrefix> prefixes;
  for (const auto& piece : pieces) {
    prefixes.push_back({voices.of(piece.voice).latents, piece.ids, piece.number});
  }
  if (settings.sampling.beams > 1) {
    for (std::size_t place = 0; place < prefixes.size(); ++place) {
      auto row = generate_with_beams(*engine_, prefixes[place], settings.sampling);
      const auto codes = static_cast<std::int64_t>(row.codes.size());
      on_piece(place, finish(std::move(row), pieces[place], voices, settings.speed));
      if (on_codes && !on_codes(codes)) return;
    }
    return;
  }
  std::vector<std::size_t> reported(pieces.size(), 0);
  std::vector<bool> is_spoken(pieces.size(), false);
  const auto hear = [&](const RowSoFar& row) {
    if (row.ended) {
      on_piece(row.row, finish({.codes = {row.codes.begin(), row.codes.end()},
                                .states = row.states,
                                .stopped = row.codes.back() == model_.config.gpt.stop_audio},
                               pieces[row.row], voices, settings.speed));
      is_spoken[row.row] = true;
    }
    const auto before = std::exchange(reported[row.row], row.codes.size());
    return !on_codes || on_codes(static_cast<std::int64_t>(row.codes.size() - before));
  };
  auto rows =
      engine_->generate(prefixes, settings.sampling, {.every = kCodesBetweenReports, .hear = hear});
  for (std::size_t place = 0; place < rows.size(); ++place) {
    if (is_spoken[place]) continue;
    on_piece(place, finish(std::move(rows[place]), pieces[place], voices, settings.speed));
  }
}

SpokenPiece Synthesizer::stream(const TextPiece& piece, const Voices& voices,
                                const SpeakSettings& settings, std::int64_t chunk_codes,
                                const OnSound& on_sound) {
  PieceStream stream = sound_of(piece, voices, settings.speed);
  std::vector<at::Tensor> sent;
  const auto hear = [&](const RowSoFar& row) {
    const auto sound = stream.add(row);
    sent.push_back(at::tensor(sound, at::kFloat));
    return on_sound(sound, row.ended);
  };
  const std::vector<DecodePrefix> prefixes = {
      {voices.of(piece.voice).latents, piece.ids, piece.number}};
  auto row = std::move(
      engine_->generate(prefixes, settings.sampling, {.every = chunk_codes, .hear = hear}).front());
  const auto latents = to_host(with_speed(row.states, settings.speed * piece.rate));
  return {std::move(row.codes), latents, at::cat(sent), row.stopped};
}

PieceStream Synthesizer::sound_of(const TextPiece& piece, const Voices& voices,
                                  double speed) const {
  return {vocoder_, voices.of(piece.voice).speaker.to(device_), speed * piece.rate};
}

PieceStream::PieceStream(const WindowedVocoder& vocoder, at::Tensor speaker, double speed)
    : vocoder_(vocoder), speaker_(std::move(speaker)), speed_(speed), joiner_(kStreamOverlap) {}

std::vector<float> PieceStream::add(const RowSoFar& row) {
  const c10::AutoGradMode no_gradients(false);
  const auto latents = with_speed(row.states, speed_);
  const auto samples = to_host(vocoder_.from(joiner_.first_wanted(), latents, speaker_));
  return joiner_.add(values_of(samples), row.ended);
}

}  // namespace myxtts
