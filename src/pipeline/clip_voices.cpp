// SPDX-License-Identifier: Apache-2.0
#include "pipeline/clip_voices.h"

#include <algorithm>
#include <vector>

#include <ATen/ATen.h>

#include "base/error.h"
#include "pipeline/clip_features.h"

namespace myxtts {
namespace {

constexpr std::int64_t kSpeakerRate = 16'000;

// A clip is heard in whole pieces of this, in samples at kSpeakerRate: cuDNN makes a plan of each
// convolution for each length that it has not met, which takes longer than the convolution.
constexpr std::int64_t kPiece = 4'000;

std::int64_t whole_pieces(std::int64_t samples) {
  return samples < kPiece ? samples : samples / kPiece * kPiece;
}

}  // namespace

void ClipVoices::make(std::span<const HeardClip> clips, at::Tensor& out) {
  const auto rows = static_cast<std::int64_t>(clips.size());
  MYXTTS_CHECK(rows <= out.size(0), "{} voices for {} places", rows, out.size(0));
  std::vector<at::Tensor> voices;
  for (const HeardClip& clip : clips) voices.push_back(voice_of(clip));
  if (!voices.empty()) out.narrow(0, 0, rows).copy_(at::stack(voices));
  out.narrow(0, rows, out.size(0) - rows).zero_();
}

at::Tensor ClipVoices::voice_of(const HeardClip& clip) {
  const auto found = kept_.find(clip.number);
  if (found != kept_.end()) return found->second;
  const auto voice = hear(clip.sound);
  if (kept_.size() < most_kept_) kept_.emplace(clip.number, voice);
  return voice;
}

at::Tensor ClipVoices::hear(const ClipSound& sound) {
  ++heard_;
  const auto wave = resampler_(sound, ClipFeatures::kRate);
  const auto heard = resampler_.resampled(wave, ClipFeatures::kRate, kSpeakerRate);
  return encoder_(heard.narrow(0, 0, whole_pieces(heard.size(0))).unsqueeze(0)).squeeze(0);
}

}  // namespace myxtts
