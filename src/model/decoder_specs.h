// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "config/networks.h"
#include "model/tensor_spec.h"

namespace myxtts {

// The tensors of the HiFi-GAN decoder, relative to "hifigan_decoder.waveform_decoder.".
TensorSpecs decoder_specs(const DecoderConfig& config);

}  // namespace myxtts
