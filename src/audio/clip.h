// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>

#include <ATen/core/Tensor.h>

#include "audio/audio_file.h"

namespace myxtts {

// The mean of all channels, [S] fp32 on the CPU.
at::Tensor mix_down(const AudioData& audio);

// A clip as the networks take it: read, mixed down, resampled to `sample_rate` and then clipped to
// ±1; [S] fp32 on the CPU. Throws DataError, see read_audio.
at::Tensor read_clip(const std::filesystem::path& path, std::int64_t sample_rate);

}  // namespace myxtts
