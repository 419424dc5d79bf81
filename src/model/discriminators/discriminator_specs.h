// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "config/networks.h"
#include "model/tensor_spec.h"

namespace myxtts {

// The sizes of the networks that tell recordings from what the decoder makes. They are needed for
// training alone, so no model folder holds them.
struct DiscriminatorConfig {
  std::vector<std::int64_t> periods = {2, 3, 5, 7, 11};
  std::vector<std::int64_t> period_channels = {16, 64, 256, 512, 512};  // of five layers
  std::vector<std::int64_t> fft_sizes = {2048, 1024, 512};  // a spectrum's hop is a quarter
  std::int64_t spectrum_channels = 32;

  bool operator==(const DiscriminatorConfig&) const = default;
};

// Channels in proportion to the decoder's, so that neither side is too strong for the other.
DiscriminatorConfig discriminators_for(const DecoderConfig& decoder);

// "period.P.L.*" and "spectrum.N.L.*" for each period P and FFT size N and its layers L, all of
// them weight-normed; a layer's channels come first. The last layer of each gives the scores.
TensorSpecs discriminator_specs(const DiscriminatorConfig& config);

}  // namespace myxtts
