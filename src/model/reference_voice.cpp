// SPDX-License-Identifier: Apache-2.0
#include "model/reference_voice.h"

#include <algorithm>
#include <cmath>

#include <ATen/ATen.h>

#include "base/error.h"

namespace myxtts {
namespace {

constexpr double kShortestPieceSeconds = 0.33;

at::Tensor first_samples(const at::Tensor& samples, std::int64_t count) {
  return samples.narrow(0, 0, std::min(count, samples.size(0)));
}

}  // namespace

std::int64_t shortest_reference_piece(std::int64_t sample_rate) {
  return static_cast<std::int64_t>(
      std::ceil(kShortestPieceSeconds * static_cast<double>(sample_rate)));
}

ReferenceVoice::ReferenceVoice(const Gpt& gpt, const SpeakerEncoder& speaker_encoder,
                               const at::Tensor& mel_stats, std::int64_t sample_rate,
                               std::int64_t speaker_sample_rate)
    : gpt_(gpt),
      speaker_encoder_(speaker_encoder),
      mel_stats_(mel_stats),
      sample_rate_(sample_rate),
      mel_(conditioning_mel_config(), mel_stats.device()),
      to_speaker_rate_(sample_rate, speaker_sample_rate, mel_stats.device()) {}

Voice ReferenceVoice::operator()(const std::vector<at::Tensor>& clips,
                                 const ReferenceLengths& lengths) const {
  std::vector<at::Tensor> heard;
  for (const auto& clip : clips) heard.push_back(first_samples(clip, lengths.of_each));
  auto all = at::cat(heard);
  if (lengths.for_latents > 0) all = first_samples(all, lengths.for_latents);
  return {.latents = latents(all, lengths.latents_piece), .speaker = speaker(heard)};
}

at::Tensor ReferenceVoice::latents(const at::Tensor& samples, std::int64_t piece) const {
  const auto shortest = shortest_reference_piece(sample_rate_);
  std::vector<at::Tensor> of_pieces;
  for (std::int64_t start = 0; start < samples.size(0); start += piece) {
    const auto count = std::min(piece, samples.size(0) - start);
    if (count < shortest) continue;
    const auto power = mel_(samples.narrow(0, start, count).unsqueeze(0));
    of_pieces.push_back(gpt_.conditioning(normalised_log_mel(power, mel_stats_)).squeeze(0));
  }
  MYXTTS_CHECK(!of_pieces.empty(), "no piece of the reference has {} samples", shortest);
  return at::stack(of_pieces).mean(0);
}

at::Tensor ReferenceVoice::speaker(const std::vector<at::Tensor>& clips) const {
  std::vector<at::Tensor> of_clips;
  for (const auto& clip : clips) {
    of_clips.push_back(speaker_encoder_(to_speaker_rate_(clip).unsqueeze(0)).squeeze(0));
  }
  return at::stack(of_clips).mean(0);
}

}  // namespace myxtts
