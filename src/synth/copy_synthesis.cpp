// SPDX-License-Identifier: Apache-2.0
#include "synth/copy_synthesis.h"

#include <algorithm>

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>

#include "base/error.h"
#include "synth/clip_encoder.h"
#include "synth/voice.h"

namespace myxtts {

CopySynthesis::CopySynthesis(const OpenModel& model, c10::Device device)
    : config_(model.config),
      lengths_(reference_lengths(model.reference, model.config.decoder.input_sample_rate)),
      device_(device),
      tensors_(on_device(model.model, device)),
      dvae_tensors_(on_device(model.dvae, device)),
      dvae_(config_.dvae, dvae_tensors_),
      gpt_(config_.gpt, tensors_),
      speaker_encoder_(config_.speaker_encoder, tensors_),
      reference_(gpt_, speaker_encoder_, tensors_.at("mel_stats"),
                 config_.decoder.input_sample_rate, config_.speaker_encoder.sample_rate),
      decoder_(config_.decoder, tensors_),
      vocoder_(decoder_, config_.decoder),
      mel_(dvae_mel_config(), device) {}

std::vector<std::int64_t> CopySynthesis::codes_of(const at::Tensor& clip) const {
  const auto mel = normalised_log_mel(mel_(clip.unsqueeze(0)), tensors_.at("mel_stats"));
  const auto codes =
      codes_of_clip(dvae_, mel, clip.size(0), config_.gpt.code_stride).cpu().contiguous();
  const auto* first = codes.const_data_ptr<std::int64_t>();
  return {first, first + codes.numel()};
}

at::Tensor CopySynthesis::operator()(const at::Tensor& clip, std::span<const std::int64_t> text,
                                     const std::function<bool()>& wanted) const {
  const c10::AutoGradMode no_gradients(false);
  if (clip.size(0) < shortest_reference_piece(input_rate())) {
    throw DataError(
        fmt::format("A clip of {} samples is too short to hear a voice in.", clip.size(0)));
  }
  const auto here = clip.to(device_);
  const std::vector<std::int64_t> codes = codes_of(here);
  const GptClip row{.text = text, .codes = codes};
  const auto batch = to_batch(pack_latent_rows(config_.gpt, std::span(&row, 1)), device_);
  if (wanted && !wanted()) return {};
  const Voice voice = reference_({here}, lengths_);
  const auto latents = gpt_.states(batch, voice.latents.unsqueeze(0));  // [n, D]
  return sound(latents, voice.speaker, wanted);
}

// A second at a time where the work can be cancelled.
at::Tensor CopySynthesis::sound(const at::Tensor& latents, const at::Tensor& speaker,
                                const std::function<bool()>& wanted) const {
  const std::int64_t length = vocoder_.length(latents.size(0));
  const std::int64_t piece = wanted ? sample_rate() : length;
  std::vector<at::Tensor> pieces;
  for (std::int64_t first = 0; first < length; first += piece) {
    if (wanted && !wanted()) return {};
    const auto last = std::min(first + piece, length);
    pieces.push_back(vocoder_.between(first, last, latents, speaker).cpu());
  }
  return at::cat(pieces).contiguous();
}

}  // namespace myxtts
