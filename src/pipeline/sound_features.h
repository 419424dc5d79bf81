// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include "audio/mel_spectrogram.h"
#include "data/batches/device_batch.h"
#include "data/batches/sound_window.h"
#include "data/clip.h"
#include "model/speaker_encoder.h"
#include "pipeline/clip_features.h"

namespace myxtts {

// The speaker vectors of a corpus' clips, on the data device, by the frozen encoder. A vector
// follows from its clip alone, so each clip is encoded once, in its first epoch, and its vector
// kept.
//
// One thread at a time. Nothing waits for the device.
class ClipVoices {
 public:
  static constexpr std::size_t kMostKept = 1 << 16;  // clips: 128 MiB with vectors of 512

  // The encoder is on `device` and outlives this.
  ClipVoices(const SpeakerEncoder& encoder, c10::Device device, std::size_t most_kept = kMostKept)
      : encoder_(encoder), resampler_(device), most_kept_(most_kept) {}

  // Vectors of whole clips, whatever a visit passes over, into the first rows of `out`
  // [slots, dim]; zeros into the others.
  void make(std::span<const ClipSound> clips, at::Tensor& out);

  std::int64_t encoded() const { return encoded_; }  // times that the encoder was asked

 private:
  at::Tensor voice_of(const ClipSound& clip);
  at::Tensor encode(const ClipSound& sound);

  const SpeakerEncoder& encoder_;
  ClipResampler resampler_;
  const std::size_t most_kept_;
  std::unordered_map<ClipNumber, at::Tensor> kept_;  // [dim]
  std::int64_t encoded_ = 0;
};

// Cuts the windows of parts that train on sound out of clips, on the data device: mel spectrograms
// equal to those of the whole clip, and sound at the part's rate. Behind a clip's end there is
// silence. A window depends on its own clip alone.
//
// One thread at a time. Nothing waits for the device; shapes follow from lengths known to the host.
class ClipWindows {
 public:
  // `mel_stats` [bands] is on `device`. `speaker_dim` is the length of the vocoder's voices.
  ClipWindows(const WindowPlan& plan, const at::Tensor& mel_stats, std::int64_t speaker_dim,
              c10::Device device);

  // The tensors that a batch's windows take, all 0; those that the part does not use are
  // undefined.
  SoundWindows empty_windows(c10::Device device) const;

  // `sounds` and `clips` are the same clips; `starts` [W] are those of HostBatch. Fills mel or
  // sound; the other tensors of `out` are left alone.
  void make(std::span<const ClipSound> sounds, std::span<const EncodedClip> clips,
            std::span<const std::int64_t> starts, SoundWindows& out);

 private:
  at::Tensor wave_of(const ClipSound& sound, const EncodedClip& clip);
  void cut(const at::Tensor& wave, std::span<const std::int64_t> starts, const at::Tensor& rows);

  const WindowPlan plan_;
  const at::Tensor mel_stats_;  // [bands]
  const std::int64_t speaker_dim_;
  const MelSpectrogram spectrogram_;
  ClipResampler resampler_;
};

}  // namespace myxtts
