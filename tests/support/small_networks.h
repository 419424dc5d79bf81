// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "config/model.h"

namespace myxtts::test {

// The sizes of `small_networks` in tests/golden/nets.py.
inline DvaeConfig small_dvae() {
  return {.hidden = 16, .channels = 32, .codebook_dim = 24, .codes = 64, .blocks = 2};
}

inline DecoderConfig small_decoder() {
  return {.input_dim = 48, .speaker_dim = 20, .initial_channels = 32};
}

inline SpeakerEncoderConfig small_speaker_encoder() {
  return {.layers = {1, 2, 1, 1}, .filters = {16, 16, 16, 24}, .output_dim = 40};
}

}  // namespace myxtts::test
