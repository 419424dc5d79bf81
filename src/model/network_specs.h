// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "config/model.h"
#include "model/tensor_spec.h"

namespace myxtts {

// The tensors of the DVAE, relative to it: in dvae.safetensors they stand without a prefix.
TensorSpecs dvae_specs(const DvaeConfig& config);

// The tensors of the HiFi-GAN decoder, relative to "hifigan_decoder.waveform_decoder.".
TensorSpecs decoder_specs(const DecoderConfig& config);

// The tensors of the speaker encoder, relative to "hifigan_decoder.speaker_encoder.".
TensorSpecs speaker_encoder_specs(const SpeakerEncoderConfig& config);

}  // namespace myxtts
