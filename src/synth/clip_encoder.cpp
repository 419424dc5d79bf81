// SPDX-License-Identifier: Apache-2.0
#include "synth/clip_encoder.h"

#include <algorithm>

#include <ATen/ATen.h>

namespace myxtts {
namespace {

constexpr double kEvenLoudness = 0.75;  // the peak that a clip is scaled to
constexpr double kSilence = 1e-8;       // a peak below it is not scaled

at::Tensor evened(const at::Tensor& clip) {
  return clip * (kEvenLoudness / clip.abs().max().clamp_min(kSilence));
}

}  // namespace

at::Tensor codes_of_clip(const Dvae& dvae, const at::Tensor& mel, std::int64_t samples,
                         std::int64_t stride) {
  const auto found = dvae.quantise(dvae.encode(mel)).squeeze(0);
  return found.narrow(0, 0, std::min((samples + stride - 1) / stride, found.size(0)));
}

ClipEncoder::ClipEncoder(const OpenModel& model, const ReferenceLengths& lengths)
    : sample_rate_(model.config.decoder.input_sample_rate),
      lengths_(lengths),
      mel_stats_(model.model.at("mel_stats")),
      evens_loudness_(model.reference.sound_norm_refs),
      dvae_(model.config.dvae, model.dvae),
      gpt_(model.config.gpt, model.model),
      speaker_encoder_(model.config.speaker_encoder, model.model),
      dvae_mel_(dvae_mel_config(), at::kCPU),
      conditioning_mel_(conditioning_mel_config(), at::kCPU),
      reference_(gpt_, speaker_encoder_, mel_stats_, sample_rate_,
                 model.config.speaker_encoder.sample_rate) {}

at::Tensor ClipEncoder::mel_dvae(const at::Tensor& clip) const {
  return normalised_log_mel(dvae_mel_(clip.unsqueeze(0)), mel_stats_).squeeze(0);
}

at::Tensor ClipEncoder::mel_cond(const at::Tensor& clip) const {
  return normalised_log_mel(conditioning_mel_(clip.unsqueeze(0)), mel_stats_).squeeze(0);
}

at::Tensor ClipEncoder::codes(const at::Tensor& mel) const {
  return dvae_.quantise(dvae_.encode(mel.unsqueeze(0))).squeeze(0);
}

Voice ClipEncoder::voice(const std::vector<at::Tensor>& clips) const {
  if (!evens_loudness_) return reference_(clips, lengths_);
  std::vector<at::Tensor> even;
  for (const auto& clip : clips) {
    even.push_back(evened(clip.narrow(0, 0, std::min(lengths_.of_each, clip.size(0)))));
  }
  return reference_(even, lengths_);
}

}  // namespace myxtts
