// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include "data/clip.h"
#include "model/speaker_encoder.h"
#include "pipeline/clip_resampler.h"

namespace myxtts {

// A clip as the speaker encoder hears it: whole, whatever a visit passes over.
struct HeardClip {
  ClipNumber number = 0;
  ClipSound sound;
};

// The speaker vectors of a corpus' clips, on the data device, by the frozen encoder. A vector
// follows from its clip alone, so each clip is heard once, in its first epoch, and its vector kept.
//
// One thread at a time. Nothing waits for the device.
class ClipVoices {
 public:
  static constexpr std::size_t kMostKept = 1 << 16;  // clips: 128 MiB with vectors of 512

  // The encoder is on `device` and outlives this.
  ClipVoices(const SpeakerEncoder& encoder, c10::Device device, std::size_t most_kept = kMostKept)
      : encoder_(encoder), resampler_(device), most_kept_(most_kept) {}

  // Vectors into the first rows of `out` [slots, dim], zeros into the others.
  void make(std::span<const HeardClip> clips, at::Tensor& out);

  std::int64_t heard() const { return heard_; }  // times that the encoder was asked

 private:
  at::Tensor voice_of(const HeardClip& clip);
  at::Tensor hear(const ClipSound& sound);

  const SpeakerEncoder& encoder_;
  ClipResampler resampler_;
  const std::size_t most_kept_;
  std::unordered_map<ClipNumber, at::Tensor> kept_;  // [dim]
  std::int64_t heard_ = 0;
};

}  // namespace myxtts
