// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

namespace myxtts {

// A sound [S] whose mel spectrogram is near to `power` [bands, F] of dvae_mel_config(), with phases
// found by Griffin and Lim's algorithm: rough, but every word can be understood. On the CPU; the
// same power gives the same sound.
at::Tensor sound_of_mel(const at::Tensor& power);

}  // namespace myxtts
