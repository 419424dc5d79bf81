// SPDX-License-Identifier: Apache-2.0
#include "model/vocoder.h"

#include <algorithm>
#include <array>
#include <utility>

#include <ATen/ATen.h>
#include <fmt/format.h>

#include "model/layers.h"
#include "model/network_specs.h"

namespace myxtts {
namespace {

constexpr double kSlope = 0.1;
constexpr double kLastSlope = 0.01;
constexpr double kSlowestSpeed = 0.05;

// By scale, not by size: the two put the samples at different places.
at::Tensor stretch(const at::Tensor& x, double scale) {
  const std::array<double, 1> scales = {scale};
  return at::upsample_linear1d(x, c10::nullopt, /*align_corners=*/false,
                               c10::ArrayRef<double>(scales));
}

double ratio(std::int64_t over, std::int64_t under) {
  return static_cast<double>(over) / static_cast<double>(under);
}

// [B, C, F] as it is, or as [B, C, 1, F] where channels are better together: LibTorch's
// convolutions over one dimension would take them apart again.
at::Tensor laid_out(const at::Tensor& x) {
  if (!prefers_channels_last(x)) return x;
  return x.unsqueeze(2).contiguous(at::MemoryFormat::ChannelsLast);
}

// Layers compute in the arithmetic of what they are given.
at::Tensor convolve(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                    std::int64_t padding, std::int64_t dilation = 1) {
  const auto dtype = x.scalar_type();
  const auto own_bias = bias.defined() ? bias.to(dtype) : bias;
  if (x.dim() == 3) {
    return at::conv1d(x, weight.to(dtype), own_bias, /*stride=*/1, padding, dilation);
  }
  const std::array<std::int64_t, 2> paddings = {0, padding};
  const std::array<std::int64_t, 2> dilations = {1, dilation};
  return at::conv2d(x, weight.to(dtype).unsqueeze(2), own_bias, /*stride=*/1,
                    at::IntArrayRef(paddings), dilations);
}

at::Tensor convolve(const WeightNormed& layer, const at::Tensor& x, std::int64_t kernel,
                    std::int64_t dilation) {
  return convolve(x, layer.weight(), layer.bias(), dilation * (kernel - 1) / 2, dilation);
}

at::Tensor convolve(const ConvTensors& layer, const at::Tensor& x) {
  return convolve(x, layer.weight, layer.bias, layer.weight.size(2) / 2);
}

at::Tensor upsample(const WeightNormed& layer, const at::Tensor& x, std::int64_t stride,
                    std::int64_t padding) {
  const auto dtype = x.scalar_type();
  const auto weight = layer.weight().to(dtype);
  const auto bias = layer.bias().to(dtype);
  if (x.dim() == 3) return at::conv_transpose1d(x, weight, bias, stride, padding);
  return at::conv_transpose2d(x, weight.unsqueeze(2), bias, {1, stride}, {0, padding});
}

}  // namespace

Decoder::Decoder(const DecoderConfig& config, const NamedTensors& tensors,
                 const std::string& prefix)
    : config_(config) {
  check_tensors(tensors, prefix, decoder_specs(config));
  const TensorScope own(tensors, prefix);
  first_ = conv_tensors(own.part("conv_pre"));
  speaker_ = conv_tensors(own.part("cond_layer"));
  last_ = {own["conv_post.weight"], {}};
  for (std::size_t stage = 0; stage < config.upsample_rates.size(); ++stage) {
    stages_.push_back({WeightNormed(own.part(fmt::format("ups.{}", stage))),
                       conv_tensors(own.part(fmt::format("conds.{}", stage))),
                       {}});
    for (std::size_t block = 0; block < config.resblock_kernels.size(); ++block) {
      stages_.back().blocks.push_back(
          residual_block(own, stage * config.resblock_kernels.size() + block, config));
    }
  }
}

Decoder::ResidualBlock Decoder::residual_block(const TensorScope& tensors, std::size_t index,
                                               const DecoderConfig& config) {
  ResidualBlock block{config.resblock_kernels[index % config.resblock_kernels.size()], {}, {}};
  for (std::size_t step = 0; step < config.resblock_dilations.size(); ++step) {
    block.dilated.emplace_back(tensors.part(fmt::format("resblocks.{}.convs1.{}", index, step)));
    block.plain.emplace_back(tensors.part(fmt::format("resblocks.{}.convs2.{}", index, step)));
  }
  return block;
}

at::Tensor Decoder::operator()(const at::Tensor& latents, const at::Tensor& speaker) const {
  return generate(frames(latents), speaker);
}

at::Tensor Decoder::frames(const at::Tensor& latents) const {
  auto z = stretch(latents.transpose(1, 2), ratio(config_.code_stride, config_.output_hop));
  if (config_.output_sample_rate == config_.input_sample_rate) return z;
  return stretch(z, ratio(config_.output_sample_rate, config_.input_sample_rate));
}

// Activations work in place wherever they follow a convolution or a sum, whose inputs autograd
// keeps and whose outputs it does not.
at::Tensor Decoder::generate(const at::Tensor& frames, const at::Tensor& speaker) const {
  const auto voice = laid_out(speaker);
  auto x = convolve(first_, laid_out(frames)).add_(convolve(speaker_, voice));
  for (std::size_t stage = 0; stage < stages_.size(); ++stage) x = run_stage(stage, x, voice);
  x = at::leaky_relu_(x, kLastSlope).to(last_.weight.scalar_type());
  if (x.dim() == 4) x = x.squeeze(2);
  return convolve(last_, x).tanh_();
}

at::Tensor Decoder::run_stage(std::size_t index, at::Tensor x, const at::Tensor& speaker) const {
  const auto& stage = stages_[index];
  const auto stride = config_.upsample_rates[index];
  const auto padding = (config_.upsample_kernels[index] - stride) / 2;
  x = upsample(stage.upsample, at::leaky_relu_(x, kSlope), stride, padding)
          .add_(convolve(stage.speaker, speaker));
  auto sum = run_block(stage.blocks.front(), x);
  for (std::size_t block = 1; block < stage.blocks.size(); ++block) {
    sum.add_(run_block(stage.blocks[block], x));
  }
  return sum.div_(static_cast<double>(stage.blocks.size()));
}

at::Tensor Decoder::run_block(const ResidualBlock& block, at::Tensor x) const {
  for (std::size_t step = 0; step < block.dilated.size(); ++step) {
    const auto dilation = config_.resblock_dilations[step];
    auto y = convolve(block.dilated[step], at::leaky_relu(x, kSlope), block.kernel, dilation);
    y = convolve(block.plain[step], at::leaky_relu_(y, kSlope), block.kernel, 1);
    x = y.add_(x);
  }
  return x;
}

at::Tensor change_speed(const at::Tensor& latents, double speed) {
  if (speed == 1.0) return latents;
  const double scale = 1.0 / std::max(speed, kSlowestSpeed);
  if (static_cast<double>(latents.size(1)) * scale < 1.0) return latents.narrow(1, 0, 0);
  return stretch(latents.transpose(1, 2), scale).transpose(1, 2);
}

}  // namespace myxtts
