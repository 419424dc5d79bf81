// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include "audio/mel_spectrogram.h"
#include "data/device_batch.h"
#include "data/sound_window.h"
#include "pipeline/clip_features.h"

namespace myxtts {

// Cuts the windows of stages that train on sound out of clips, on the data device: mel spectrograms
// equal to those of the whole clip, and sound at the stage's rate. Behind a clip's end there is
// silence. A window depends on its own clip alone.
//
// One thread at a time. Nothing waits for the device; shapes follow from lengths known to the host.
class ClipWindows {
 public:
  // `mel_stats` [bands] is on `device`. `speaker_dim` is the length of the decoder's voices.
  ClipWindows(const WindowPlan& plan, const at::Tensor& mel_stats, std::int64_t speaker_dim,
              c10::Device device);

  // The tensors that a batch's windows take, all 0; those that the stage does not use are
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
