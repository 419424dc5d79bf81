// SPDX-License-Identifier: Apache-2.0
#include "pipeline/sound_features.h"

#include <algorithm>
#include <vector>

#include <ATen/ATen.h>

#include "base/error.h"
#include "pipeline/clip_features.h"

namespace myxtts {
namespace {

constexpr std::int64_t kSpeakerRate = 16'000;

// A clip is encoded in whole pieces of this, in samples at kSpeakerRate: cuDNN makes a plan of each
// convolution for each length that it has not met, which takes longer than the convolution.
constexpr std::int64_t kPiece = 4'000;

std::int64_t whole_pieces(std::int64_t samples) {
  return samples < kPiece ? samples : samples / kPiece * kPiece;
}

}  // namespace

void ClipVoices::make(std::span<const ClipSound> clips, at::Tensor& out) {
  const auto rows = static_cast<std::int64_t>(clips.size());
  MYXTTS_CHECK(rows <= out.size(0), "{} voices for {} places", rows, out.size(0));
  std::vector<at::Tensor> voices;
  for (const ClipSound& clip : clips) voices.push_back(voice_of(clip));
  if (!voices.empty()) out.narrow(0, 0, rows).copy_(at::stack(voices));
  out.narrow(0, rows, out.size(0) - rows).zero_();
}

at::Tensor ClipVoices::voice_of(const ClipSound& clip) {
  const auto found = kept_.find(clip.number);
  if (found != kept_.end()) return found->second;
  const auto voice = encode(clip);
  if (kept_.size() < most_kept_) kept_.emplace(clip.number, voice);
  return voice;
}

at::Tensor ClipVoices::encode(const ClipSound& sound) {
  ++encoded_;
  const auto wave = resampler_(sound, ClipFeatures::kRate);
  const auto heard = resampler_.resampled(wave, ClipFeatures::kRate, kSpeakerRate);
  return encoder_(heard.narrow(0, 0, whole_pieces(heard.size(0))).unsqueeze(0)).squeeze(0);
}

namespace {

// The wave reflected at its ends, as centred frames see it; silence first where it is shorter than
// the window's frames.
at::Tensor reflected(const at::Tensor& wave, const WindowPlan& plan, const MelConfig& mel) {
  const auto reach = mel.fft_size / 2;
  const auto missing = std::max<std::int64_t>((plan.length - 1) * mel.hop - wave.size(0), 0);
  const auto whole = missing > 0 ? at::constant_pad_nd(wave, {0, missing}) : wave;
  return at::reflection_pad1d(whole.unsqueeze(0), {reach, reach}).squeeze(0);
}

}  // namespace

ClipWindows::ClipWindows(const WindowPlan& plan, const at::Tensor& mel_stats,
                         std::int64_t speaker_dim, c10::Device device)
    : plan_(plan),
      mel_stats_(mel_stats),
      speaker_dim_(speaker_dim),
      spectrogram_(dvae_mel_config(), device),
      resampler_(device) {}

SoundWindows ClipWindows::empty_windows(c10::Device device) const {
  const auto floats = at::TensorOptions(device).dtype(at::kFloat);
  const auto ids = floats.dtype(at::kLong);
  const auto count = plan_.count();
  SoundWindows made;
  made.weights = at::zeros({count}, floats);
  made.clips = at::zeros({count}, ids);
  const WindowContent& content = plan_.content();
  if (content.as_mel) {
    made.mel = at::zeros({count, mel_stats_.size(0), plan_.length}, floats);
  } else {
    made.sound = at::zeros({count, plan_.samples()}, floats);
  }
  if (content.with_speakers) made.speakers = at::zeros({count}, ids);
  if (content.with_voices) {
    made.starts = at::zeros({count}, ids);
    made.voices = at::zeros({plan_.slots, speaker_dim_}, floats);
  }
  return made;
}

// What windows are cut from, so that sample `unit · start` is a window's first.
at::Tensor ClipWindows::wave_of(const ClipSound& sound, const EncodedClip& clip) {
  if (plan_.content().as_mel) return reflected(clip.wave, plan_, dvae_mel_config());
  return plan_.content().of_recording
             ? resampler_(sound, plan_.rate)
             : resampler_.resampled(clip.wave, ClipFeatures::kRate, plan_.rate);
}

void ClipWindows::cut(const at::Tensor& wave, std::span<const std::int64_t> starts,
                      const at::Tensor& rows) {
  for (std::size_t window = 0; window < starts.size(); ++window) {
    const auto first = starts[window] * plan_.unit;
    const auto there = std::clamp<std::int64_t>(wave.size(0) - first, 0, rows.size(1));
    if (there == 0) continue;
    rows.select(0, static_cast<std::int64_t>(window))
        .narrow(0, 0, there)
        .copy_(wave.narrow(0, first, there));
  }
}

void ClipWindows::make(std::span<const ClipSound> sounds, std::span<const EncodedClip> clips,
                       std::span<const std::int64_t> starts, SoundWindows& out) {
  const bool is_mel = plan_.content().as_mel;
  const auto mel = dvae_mel_config();
  const auto samples = is_mel ? (plan_.length - 1) * mel.hop + mel.fft_size : plan_.samples();
  const auto rows = at::zeros({plan_.count(), samples}, mel_stats_.options());
  for (std::size_t clip = 0; clip < clips.size(); ++clip) {
    const auto row = static_cast<std::int64_t>(clip);
    const auto own = starts.subspan(clip * static_cast<std::size_t>(plan_.per_clip),
                                    static_cast<std::size_t>(plan_.per_clip));
    cut(wave_of(sounds[clip], clips[clip]), own,
        rows.narrow(0, row * plan_.per_clip, plan_.per_clip));
  }
  if (is_mel) {
    out.mel.copy_(normalised_log_mel(spectrogram_.of_reflected(rows), mel_stats_));
  } else {
    out.sound.copy_(rows);
  }
}

}  // namespace myxtts
