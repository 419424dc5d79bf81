// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

#include "run/png.h"

namespace myxtts {

// ln of the mel power of a sound [S], [bands, F]: about 86 frames a second at every rate, so that
// pictures of sounds at several rates have the same width.
at::Tensor log_mel(const at::Tensor& sound, std::int64_t sample_rate);

// Spectrograms [bands, F] in ln power one below another, the first at the top, high notes above low
// ones. The shades mean the same in every picture.
Picture mel_picture(const std::vector<at::Tensor>& log_mels);

}  // namespace myxtts
