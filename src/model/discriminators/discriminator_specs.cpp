// SPDX-License-Identifier: Apache-2.0
#include "model/discriminators/discriminator_specs.h"

#include <algorithm>

#include <fmt/format.h>

#include "model/conv_specs.h"

namespace myxtts {
namespace {

constexpr std::int64_t kPublicChannels = 512;  // of the decoder that the defaults are made for
constexpr std::int64_t kFewestChannels = 4;
constexpr int kSpectrumLayers = 5;

void append(TensorSpecs& specs, const std::string& name, const std::vector<std::int64_t>& shape) {
  append_weight_normed(specs, {name, shape, "decoder.initial_channels"}, shape[0]);
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

// Kernels are [frequencies, frames].
void append_spectrum(TensorSpecs& specs, const DiscriminatorConfig& config, std::int64_t fft_size) {
  const std::int64_t channels = config.spectrum_channels;
  for (int layer = 0; layer < kSpectrumLayers; ++layer) {
    append(specs, fmt::format("spectrum.{}.{}", fft_size, layer),
           {channels, layer == 0 ? 1 : channels, layer + 1 < kSpectrumLayers ? 9 : 3, 3});
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

}  // namespace myxtts
