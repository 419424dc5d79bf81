// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include "clips/cuts.h"
#include "clips/recording.h"
#include "model/speaker_encoder.h"

namespace myxtts {

// Tells voices apart by a model's speaker encoder, which is on `device` and outlives it.
struct VoiceListener {
  const SpeakerEncoder& encoder;
  std::int64_t sample_rate = 0;  // that the encoder takes
  c10::Device device;
};

// Voices of units [N, D], each of length one; on the CPU. Short units are heard again and again.
at::Tensor voices_of(const VoiceListener& listener, const Recording& recording,
                     std::span<const CutUnit> units, const std::function<void()>& heard = {});

// Puts voices [N, D] of length one into groups, numbered by their `weights` from the heaviest on,
// which is 0: the two most alike become one until no two groups are as alike as `likeness`, a
// cosine between their means. Of more than a thousand, the others join the nearest group of the
// heaviest thousand. Gives the group of each.
std::vector<std::int64_t> group_voices(const at::Tensor& voices, std::span<const double> weights,
                                       double likeness);

// The voice of each group [groups, D], of length one: the weighted mean of its voices.
at::Tensor means_of_groups(const at::Tensor& voices, std::span<const double> weights,
                           std::span<const std::int64_t> groups);

}  // namespace myxtts
