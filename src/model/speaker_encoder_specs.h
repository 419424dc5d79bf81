// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "config/networks.h"
#include "model/tensor_spec.h"

namespace myxtts {

// The tensors of the speaker encoder, relative to "hifigan_decoder.speaker_encoder.".
TensorSpecs speaker_encoder_specs(const SpeakerEncoderConfig& config);

}  // namespace myxtts
