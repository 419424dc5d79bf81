// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

#include "data/corpus.h"

namespace myxtts {

// The scale of each band of the log mel spectrogram, which the checkpoint calls mel_stats.
struct MelStatistics {
  at::Tensor scale;  // [bands] fp32, on the CPU
  std::int64_t clips = 0;
  double minutes = 0;
};

// The root of the mean square of ln(max(mel power, 1e-5)) over all frames of the training clips, by
// band: what the networks see, the log mel divided by it, then has a mean square of 1. The same
// bits whatever the number of threads. With progress. Clips that cannot be decoded are passed over,
// as training does; throws DataError when none is left. Where there is more sound than
// `most_minutes`, clips are drawn from it by the seed.
//
// A new model is given them once, before its DVAE is trained and so before anything else is: every
// network depends on them from then on. As a session does that:
//
//   OpenModel start = new_model(config, seed);
//   start.model.at("mel_stats").copy_(mel_statistics(corpus, seed, threads).scale);
MelStatistics mel_statistics(const Corpus& corpus, std::uint64_t seed = 0, int threads = 1,
                             double most_minutes = 60);

}  // namespace myxtts
