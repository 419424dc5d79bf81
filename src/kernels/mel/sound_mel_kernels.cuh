// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include "kernels/mel/sound_mel.h"
#include "kernels/mel/sound_mel_steps.cuh"

namespace myxtts {

inline constexpr int kSoundRows = 64;    // of one launch: they travel as its arguments
inline constexpr int kSoundBands = 128;  // at most

struct SoundRows {
  sound_mel::Row rows[kSoundRows];
};

// The first `count` of these rows, to out [count, bands, frames].
cudaError_t launch_sound_mel(const SoundMelView& tables, const SoundMelShape& shape,
                             const SoundRows& rows, int count, float* out, cudaStream_t stream);

}  // namespace myxtts
