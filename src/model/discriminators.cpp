// SPDX-License-Identifier: Apache-2.0
#include "model/discriminators.h"

#include <algorithm>
#include <utility>

#include <ATen/ATen.h>
#include <fmt/format.h>

#include "audio/mel_spectrogram.h"
#include "model/layers.h"
#include "model/tensor_spec.h"

namespace myxtts {
namespace {

constexpr std::int64_t kPublicChannels = 512;  // of the decoder that the defaults are made for
constexpr std::int64_t kFewestChannels = 4;
constexpr std::size_t kSpectrumLayers = 5;

void append(TensorSpecs& specs, const std::string& name, const std::vector<std::int64_t>& shape) {
  append_weight_normed(specs, name, shape, "decoder.initial_channels", shape[0]);
}

// Kernels reach over every so many samples, one residue of the period at a time.
void append_period(TensorSpecs& specs, const DiscriminatorConfig& config, std::int64_t period) {
  std::int64_t channels = 1;
  std::size_t layer = 0;
  for (const auto wider : config.period_channels) {
    append(specs, fmt::format("period.{}.{}", period, layer++), {wider, channels, 5, 1});
    channels = wider;
  }
  append(specs, fmt::format("period.{}.{}", period, layer), {1, channels, 3, 1});
}

// Kernels are [places of several frequencies, frames].
void append_spectrum(TensorSpecs& specs, const DiscriminatorConfig& config, std::int64_t fft_size) {
  const std::int64_t channels = config.spectrum_channels;
  for (std::size_t layer = 0; layer < kSpectrumLayers; ++layer) {
    append(specs, fmt::format("spectrum.{}.{}", fft_size, layer),
           {channels, layer == 0 ? config.spectrum_bins : channels,
            layer + 1 < kSpectrumLayers ? 9 : 3, 3});
  }
  append(specs, fmt::format("spectrum.{}.{}", fft_size, kSpectrumLayers), {1, channels, 3, 3});
}

}  // namespace

DiscriminatorConfig discriminators_for(const DecoderConfig& decoder) {
  DiscriminatorConfig config;
  const auto scaled = [&decoder](std::int64_t channels) {
    return std::max(channels * decoder.initial_channels / kPublicChannels, kFewestChannels);
  };
  std::ranges::transform(config.period_channels, config.period_channels.begin(), scaled);
  config.spectrum_channels = scaled(config.spectrum_channels);
  return config;
}

TensorSpecs discriminator_specs(const DiscriminatorConfig& config) {
  TensorSpecs specs;
  for (const auto period : config.periods) append_period(specs, config, period);
  for (const auto fft_size : config.fft_sizes) append_spectrum(specs, config, fft_size);
  return specs;
}

namespace {

constexpr double kSlope = 0.1;

// [B, S] -> [B, 1, S / period, period], rounded up; the sound is reflected at its end.
at::Tensor folded(const at::Tensor& sound, std::int64_t period) {
  const std::int64_t missing = (period - sound.size(1) % period) % period;
  const auto padded = missing == 0 ? sound : at::reflection_pad1d(sound, {0, missing});
  return padded.view({sound.size(0), 1, -1, period});
}

// [B, F, T] -> [B, bins, F / bins, T] without the frequency 0: one channel and so many places would
// keep a GPU busy with little to compute.
at::Tensor grouped(const at::Tensor& spectrum, std::int64_t bins) {
  const std::int64_t places = (spectrum.size(1) - 1) / bins;
  return spectrum.narrow(1, 1, places * bins)
      .reshape({spectrum.size(0), places, bins, spectrum.size(2)})
      .transpose(1, 2);
}

}  // namespace

Discriminators::Discriminators(const DiscriminatorConfig& config, const NamedTensors& tensors,
                               const std::string& prefix)
    : spectrum_bins_(config.spectrum_bins) {
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
    judge(network, grouped(magnitudes(sound, network.window), spectrum_bins_).to(dtype), judgement);
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
    // From the first layer's output on; before it there is one channel, and no order of them.
    if (prefers_channels_last(x)) x = x.contiguous(at::MemoryFormat::ChannelsLast);
    judgement.features.push_back(x);
  }
  judgement.scores.push_back(x);
}

}  // namespace myxtts
