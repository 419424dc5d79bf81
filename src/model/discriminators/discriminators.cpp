// SPDX-License-Identifier: Apache-2.0
#include "model/discriminators/discriminators.h"

#include <utility>

#include <ATen/ATen.h>
#include <fmt/format.h>

#include "audio/magnitudes.h"
#include "model/conv_tensors.h"

namespace myxtts {
namespace {

constexpr double kSlope = 0.1;
constexpr std::size_t kSpectrumLayers = 5;

// [B, S] -> [B, 1, S / period, period], rounded up; the sound is reflected at its end.
at::Tensor folded(const at::Tensor& sound, std::int64_t period) {
  const std::int64_t missing = (period - sound.size(1) % period) % period;
  const auto padded = missing == 0 ? sound : at::reflection_pad1d(sound, {0, missing});
  return padded.view({sound.size(0), 1, -1, period});
}

}  // namespace

Discriminators::Discriminators(const DiscriminatorConfig& config, const NamedTensors& tensors,
                               const std::string& prefix) {
  check_tensors(tensors, prefix, discriminator_specs(config));
  const TensorScope own(tensors, prefix);
  for (const auto period : config.periods) {
    periods_.push_back(period_network(own.part(fmt::format("period.{}", period)), period,
                                      config.period_channels.size()));
  }
  for (const auto fft_size : config.fft_sizes) {
    spectra_.push_back(spectrum_network(own.part(fmt::format("spectrum.{}", fft_size)), fft_size));
  }
}

// Each layer but the last two thins out the rows to a third.
Discriminators::Network Discriminators::period_network(const TensorScope& tensors,
                                                       std::int64_t period, std::size_t layers) {
  Network network = {.size = period, .window = {}, .layers = {}};
  for (std::size_t layer = 0; layer < layers; ++layer) {
    network.layers.push_back({.weights = WeightNormed(tensors.part(std::to_string(layer))),
                              .stride = {layer + 1 < layers ? 3 : 1, 1},
                              .padding = {2, 0}});
  }
  network.layers.push_back({.weights = WeightNormed(tensors.part(std::to_string(layers))),
                            .stride = {1, 1},
                            .padding = {1, 0}});
  return network;
}

// The layers in the middle halve the frequencies; frames stay as many as they are.
Discriminators::Network Discriminators::spectrum_network(const TensorScope& tensors,
                                                         std::int64_t fft_size) {
  Network network = {.size = fft_size, .window = {}, .layers = {}};
  for (std::size_t layer = 0; layer <= kSpectrumLayers; ++layer) {
    const bool halves = layer > 0 && layer + 1 < kSpectrumLayers;
    network.layers.push_back({.weights = WeightNormed(tensors.part(std::to_string(layer))),
                              .stride = {halves ? 2 : 1, 1},
                              .padding = {layer + 1 < kSpectrumLayers ? 4 : 1, 1}});
  }
  const auto& bias = network.layers.front().weights.bias();
  network.window = at::hann_window(fft_size, bias.options().requires_grad(false));
  return network;
}

Judgement Discriminators::operator()(const at::Tensor& sound, at::ScalarType dtype) const {
  Judgement judgement;
  for (const auto& network : periods_) {
    judge(network, folded(sound, network.size).to(dtype), judgement);
  }
  for (const auto& network : spectra_) {
    const SpectrumSizes sizes = {.fft_size = network.size, .hop = network.size / 4};
    judge(network, magnitudes(sound, network.window, sizes).unsqueeze(1).to(dtype), judgement);
  }
  return judgement;
}

// Activations work in place: a convolution keeps its input and not its output.
void Discriminators::judge(const Network& network, at::Tensor x, Judgement& judgement) {
  for (std::size_t i = 0; i < network.layers.size(); ++i) {
    const auto& layer = network.layers[i];
    const auto dtype = x.scalar_type();
    x = at::conv2d(x, layer.weights.weight().to(dtype), layer.weights.bias().to(dtype),
                   layer.stride, layer.padding);
    if (i + 1 == network.layers.size()) break;
    x = at::leaky_relu_(x, kSlope);
    judgement.features.push_back(x);
  }
  judgement.scores.push_back(x);
}

}  // namespace myxtts
