// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

namespace myxtts {

// How vectors are told apart while the encoder is trained.
struct SpeakerHeadRule {
  double margin = 0.2;  // in radians, by which the right speaker must be nearer than it is
  double scale = 30.0;  // of cosines, before the softmax
};

// Cosines of vectors [W, dim] with the directions [speakers, dim] of the speakers: [W, speakers].
at::Tensor speaker_cosines(const at::Tensor& vectors, const at::Tensor& directions);

// What the softmax takes: the cosines, scaled, with the angle to the right one of `speakers` [W]
// widened by the margin. Beyond half a turn, where a wider angle would count as a smaller one, the
// cosine itself is lowered.
at::Tensor speaker_logits(const at::Tensor& cosines, const at::Tensor& speakers,
                          const SpeakerHeadRule& rule);

// The mean cosine of two different windows of one speaker, less that of windows of two speakers:
// fp32 scalar; windows of weight 0 do not count. 0 where there are no two such windows.
at::Tensor cosine_gap(const at::Tensor& vectors, const at::Tensor& speakers,
                      const at::Tensor& weights);

}  // namespace myxtts
