// SPDX-License-Identifier: Apache-2.0
#include "model/dvae.h"

#include <tuple>

#include <ATen/ATen.h>
#include <fmt/format.h>

#include "audio/exact_ops.h"
#include "model/network_specs.h"

namespace myxtts {
namespace {

at::Tensor convolve(const ConvTensors& layer, const at::Tensor& x, std::int64_t stride = 1) {
  const auto kernel = layer.weight.size(2);
  if (at::GradMode::is_enabled() && layer.weight.requires_grad()) {
    return at::conv1d(x, layer.weight, layer.bias, stride, kernel / 2);
  }
  return exact_conv1d(x, layer.weight, layer.bias, stride, kernel / 2);
}

// A convolution pads with zeros; behind the end of a short row it must find zeros too.
at::Tensor masked(const at::Tensor& x, const at::Tensor& mask) {
  return mask.defined() ? x * mask : x;
}

at::Tensor mask_for(const at::Tensor& counts, std::int64_t frames, const at::Tensor& like) {
  const auto positions = at::arange(frames, counts.options());
  return (positions.unsqueeze(0) < counts.unsqueeze(1)).unsqueeze(1).to(like.scalar_type());
}

at::Tensor halved(const at::Tensor& counts) {
  return (counts + 1).div(2, "floor");
}

}  // namespace

Dvae::Dvae(const DvaeConfig& config, const NamedTensors& tensors, const std::string& prefix) {
  check_tensors(tensors, prefix, dvae_specs(config));
  const TensorScope own(tensors, prefix);
  first_ = conv_tensors(own.part("encoder.0.0"));
  second_ = conv_tensors(own.part("encoder.1.0"));
  encoder_blocks_ = blocks_from(own, "encoder", 2, config.blocks);
  to_codebook_ = conv_tensors(own.part(fmt::format("encoder.{}", config.blocks + 2)));
  embed_ = own["codebook.embed"];
  from_codebook_ = conv_tensors(own.part("decoder.0"));
  decoder_blocks_ = blocks_from(own, "decoder", 1, config.blocks);
  upsamplers_ = {conv_tensors(own.part(fmt::format("decoder.{}.0.conv", config.blocks + 1))),
                 conv_tensors(own.part(fmt::format("decoder.{}.0.conv", config.blocks + 2)))};
  to_mel_ = conv_tensors(own.part(fmt::format("decoder.{}", config.blocks + 3)));
}

std::vector<Dvae::Block> Dvae::blocks_from(const TensorScope& tensors, const std::string& side,
                                           std::int64_t first, std::int64_t count) {
  std::vector<Block> blocks;
  for (std::int64_t block = first; block < first + count; ++block) {
    const auto name = fmt::format("{}.{}.net.", side, block);
    blocks.push_back(
        {{conv_tensors(tensors.part(name + "0")), conv_tensors(tensors.part(name + "2")),
          conv_tensors(tensors.part(name + "4"))}});
  }
  return blocks;
}

at::Tensor Dvae::encode(const at::Tensor& mel) const {
  return encode_masked(mel, {});
}

at::Tensor Dvae::encode(const at::Tensor& mel, const at::Tensor& frames) const {
  const auto halves = halved(frames);
  const auto quarters = halved(halves);
  const auto half_width = (mel.size(2) + 1) / 2;
  return encode_masked(mel, {mask_for(frames, mel.size(2), mel), mask_for(halves, half_width, mel),
                             mask_for(quarters, (half_width + 1) / 2, mel)});
}

at::Tensor Dvae::encode_packed(const at::Tensor& mel, const at::Tensor& mask) const {
  // A place of half the rate counts if its first frame does, since clips begin at even places.
  const auto halves = mask.slice(2, 0, mask.size(2), 2);
  return encode_masked(mel, {mask, halves, halves.slice(2, 0, halves.size(2), 2)});
}

at::Tensor Dvae::encode_masked(const at::Tensor& mel, const std::array<Mask, 3>& masks) const {
  auto x = masked(mel, masks[0]);
  x = masked(convolve(first_, x, 2).relu_(), masks[1]);   // [B, hidden, F/2]
  x = masked(convolve(second_, x, 2).relu_(), masks[2]);  // [B, channels, F/4]
  for (const auto& block : encoder_blocks_) x = run_block(block, x, masks[2]);
  return masked(convolve(to_codebook_, x), masks[2]);
}

at::Tensor Dvae::run_block(const Block& block, const at::Tensor& x, const Mask& mask) {
  auto y = masked(convolve(block[0], x).relu_(), mask);
  y = convolve(block[1], y).relu_();
  return masked(convolve(block[2], y) + x, mask);
}

at::Tensor Dvae::quantise(const at::Tensor& z) const {
  return nearest(z, embed_);
}

at::Tensor Dvae::look_up(const at::Tensor& codes) const {
  return entries_of(codes, embed_);
}

at::Tensor Dvae::nearest(const at::Tensor& z, const at::Tensor& embed) {
  const auto rows = z.transpose(1, 2).reshape({-1, z.size(1)});  // [B * n, dim]
  // ‖z‖² is the same for every code, but belongs to the sum that coqui-tts rounds.
  const auto distance = rows.square().sum(1, /*keepdim=*/true) - exact_matmul(rows * 2, embed) +
                        embed.square().sum(0, /*keepdim=*/true);
  return distance.argmin(1).view({z.size(0), z.size(2)});
}

at::Tensor Dvae::entries_of(const at::Tensor& codes, const at::Tensor& embed) {
  return at::embedding(embed.t(), codes).transpose(1, 2);
}

at::Tensor Dvae::decode(const at::Tensor& entries) const {
  auto x = convolve(from_codebook_, entries);
  for (const auto& block : decoder_blocks_) x = run_block(block, x, {});
  for (const auto& layer : upsamplers_) {
    x = convolve(layer, x.repeat_interleave(2, /*dim=*/2, 2 * x.size(2))).relu_();
  }
  return convolve(to_mel_, x);
}

}  // namespace myxtts
