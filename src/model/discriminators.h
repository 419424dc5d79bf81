// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "config/model.h"
#include "model/layers.h"
#include "model/named_tensors.h"
#include "model/tensor_spec.h"

namespace myxtts {

// The sizes of the networks that distinguish recordings from what the decoder makes. They are
// needed for training alone, so no model folder holds them.
struct DiscriminatorConfig {
  std::vector<std::int64_t> periods = {2, 3, 5, 7, 11};
  std::vector<std::int64_t> period_channels = {16, 64, 256, 512, 512};  // of five layers
  std::vector<std::int64_t> fft_sizes = {2048, 1024, 512};  // a spectrum's hop is a quarter
  std::int64_t spectrum_bins = 4;  // neighbouring frequencies that are one place's channels
  std::int64_t spectrum_channels = 32;

  bool operator==(const DiscriminatorConfig&) const = default;
};

// Channels in proportion to the decoder's, so that neither side is too strong for the other.
DiscriminatorConfig discriminators_for(const DecoderConfig& decoder);

// "period.P.L.*" and "spectrum.N.L.*" for each period P and FFT size N and its layers L, all of
// them weight-normed; a layer's channels come first. The last layer of each gives the scores.
TensorSpecs discriminator_specs(const DiscriminatorConfig& config);

// What the discriminators say about sound: one entry in `scores` for each of them, and everything
// that their layers computed.
struct Judgement {
  std::vector<at::Tensor> scores;    // [B, ...]: 1 for a recording, 0 for what was made
  std::vector<at::Tensor> features;  // [B, channels, ...], the scores not among them
};

// Eight networks that learn to distinguish recordings from what the decoder makes: one for each
// period, which sees the sound folded into rows of that many samples, and one for each resolution,
// which sees the magnitudes of its spectrum. Between them they miss neither the rhythm of a voice
// nor its overtones.
//
// Trains when its tensors ask for gradients at construction. Nothing waits for the device and no
// shape depends on data.
class Discriminators {
 public:
  // Shares the tensors named `prefix` + the names of discriminator_specs().
  Discriminators(const DiscriminatorConfig& config, const NamedTensors& tensors,
                 const std::string& prefix = "");

  // Of sound [B, S], fp32, with more samples than half the largest FFT; layers compute in `dtype`.
  Judgement operator()(const at::Tensor& sound, at::ScalarType dtype) const;

 private:
  struct Layer {
    WeightNormed weights;
    std::vector<std::int64_t> stride;
    std::vector<std::int64_t> padding;
  };
  struct Network {
    std::int64_t size;  // a period, or an FFT's
    at::Tensor window;  // of a spectrum
    std::vector<Layer> layers;
  };

  static Network period_network(const TensorScope& tensors, std::int64_t period,
                                std::size_t layers);
  static Network spectrum_network(const TensorScope& tensors, std::int64_t fft_size);
  static void judge(const Network& network, at::Tensor x, Judgement& judgement);

  std::int64_t spectrum_bins_;
  std::vector<Network> periods_;
  std::vector<Network> spectra_;
};

}  // namespace myxtts
