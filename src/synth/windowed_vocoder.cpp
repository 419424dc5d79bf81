// SPDX-License-Identifier: Apache-2.0
#include "synth/windowed_vocoder.h"

#include <algorithm>
#include <cmath>

#include <ATen/ATen.h>

#include "base/error.h"

namespace myxtts {
namespace {

constexpr std::int64_t kOuterKernel = 7;  // of the first and the last convolution

// How far one side of a residual stage looks, in samples of its own rate.
std::int64_t reach_of_part(const DecoderConfig& config) {
  const auto kernel = *std::ranges::max_element(config.resblock_kernels);
  std::int64_t reach = 0;
  for (const auto dilation : config.resblock_dilations) reach += (kernel / 2) * (dilation + 1);
  return reach;
}

// Walks from the last layer to the first; an upsampling layer divides what was reached so far.
std::int64_t reach_of(const DecoderConfig& config) {
  std::int64_t reach = kOuterKernel / 2;
  for (std::size_t stage = config.upsample_rates.size(); stage-- > 0;) {
    reach += reach_of_part(config);
    reach = (reach + config.upsample_kernels[stage]) / config.upsample_rates[stage] + 1;
  }
  return reach + kOuterKernel / 2;
}

}  // namespace

WindowedVocoder::WindowedVocoder(const Decoder& decoder, const DecoderConfig& config)
    : decoder_(decoder), config_(config), reach_(reach_of(config)) {}

at::Tensor WindowedVocoder::operator()(const at::Tensor& latents, const at::Tensor& speaker) const {
  return from(0, latents, speaker);
}

at::Tensor WindowedVocoder::from(std::int64_t first, const at::Tensor& latents,
                                 const at::Tensor& speaker) const {
  if (latents.size(0) == 0) return at::empty({0}, latents.options());
  return between(first, length(latents.size(0)), latents, speaker);
}

at::Tensor WindowedVocoder::between(std::int64_t first, std::int64_t last,
                                    const at::Tensor& latents, const at::Tensor& speaker) const {
  auto frames = decoder_.frames(latents.unsqueeze(0));  // [1, D, F]
  const auto skipped = std::max<std::int64_t>(first / config_.output_hop - reach_, 0);
  MYXTTS_CHECK(first <= last && last <= frames.size(2) * config_.output_hop,
               "samples {} to {} of {} frames", first, last, frames.size(2));
  const auto end = std::min(last / config_.output_hop + 1 + reach_, frames.size(2));
  frames = frames.narrow(2, skipped, end - skipped).contiguous();
  const auto samples = decoder_.generate(frames, speaker.view({1, -1, 1})).flatten();
  const auto offset = first - skipped * config_.output_hop;
  return samples.narrow(0, offset, last - first);
}

// As the two interpolations of Decoder::frames() round.
std::int64_t WindowedVocoder::length(std::int64_t latents) const {
  const auto stretched = [](std::int64_t count, std::int64_t over, std::int64_t under) {
    const double scale = static_cast<double>(over) / static_cast<double>(under);
    return static_cast<std::int64_t>(std::floor(static_cast<double>(count) * scale));
  };
  const auto frames = stretched(latents, config_.code_stride, config_.output_hop);
  if (config_.output_sample_rate == config_.input_sample_rate) return frames * config_.output_hop;
  return stretched(frames, config_.output_sample_rate, config_.input_sample_rate) *
         config_.output_hop;
}

}  // namespace myxtts
