// SPDX-License-Identifier: Apache-2.0
#include "model/speaker_encoder.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include "audio/exact_ops.h"
#include "model/network_specs.h"

namespace myxtts {
namespace {

constexpr double kNormEpsilon = 1e-5;
constexpr double kNormMomentum = 0.1;
constexpr double kLogOffset = 1e-6;
constexpr double kLeastVariance = 1e-5;
constexpr double kLeastLength = 1e-12;

const std::string kFilter = "torch_spec.0.filter";
const std::string kWindow = "torch_spec.1.spectrogram.window";
const std::string kFilterBank = "torch_spec.1.mel_scale.fb";

MelConfig speaker_mel_config(const SpeakerEncoderConfig& config) {
  return {.sample_rate = config.sample_rate,
          .fft_size = config.fft_size,
          .window = config.window,
          .hop = config.hop,
          .bands = config.mel_bands,
          .high_hz = static_cast<double>(config.sample_rate / 2),
          .window_kind = WindowKind::Hamming,
          .area_normalised = false};
}

// The network's scope, once everything in it has proved to be there.
TensorScope tensors_of(const SpeakerEncoderConfig& config, const NamedTensors& tensors,
                       const std::string& prefix) {
  check_tensors(tensors, prefix, speaker_encoder_specs(config));
  return TensorScope(tensors, prefix);
}

at::Tensor pointwise(const ConvTensors& layer, const at::Tensor& x) {
  return at::conv1d(x, layer.weight, layer.bias);
}

}  // namespace

NamedTensors speaker_encoder_tables(const SpeakerEncoderConfig& config) {
  const auto mel = speaker_mel_config(config);
  auto filter = at::ones({1, 1, 2}, at::kFloat);
  filter.select(2, 0).fill_(-config.preemphasis);
  return {{kFilter, filter}, {kWindow, mel_window(mel)}, {kFilterBank, mel_filters(mel)}};
}

SpeakerEncoder::SpeakerEncoder(const SpeakerEncoderConfig& config, const NamedTensors& tensors,
                               const std::string& prefix, Mode mode)
    : mode_(mode),
      mel_(speaker_mel_config(config), tensors_of(config, tensors, prefix)[kWindow],
           TensorScope(tensors, prefix)[kFilterBank]) {
  const TensorScope own(tensors, prefix);
  preemphasis_ = own[kFilter];
  first_ = conv_tensors(own.part("conv1"));
  first_norm_ = batch_norm(own, "bn1");
  for (std::size_t layer = 0; layer < config.layers.size(); ++layer) {
    for (std::int64_t block = 0; block < config.layers[layer]; ++block) {
      blocks_.push_back(
          block_from(own, fmt::format("layer{}.{}", layer + 1, block), layer > 0 && block == 0));
    }
  }
  attend_in_ = conv_tensors(own.part("attention.0"));
  attend_norm_ = batch_norm(own, "attention.2");
  attend_out_ = conv_tensors(own.part("attention.3"));
  output_ = conv_tensors(own.part("fc"));
}

SpeakerEncoder::BatchNorm SpeakerEncoder::batch_norm(const TensorScope& tensors,
                                                     const std::string& name) const {
  return {tensors[name + ".weight"], tensors[name + ".bias"], tensors[name + ".running_mean"],
          tensors[name + ".running_var"], mode_};
}

SpeakerEncoder::Block SpeakerEncoder::block_from(const TensorScope& tensors,
                                                 const std::string& name, bool downsamples) const {
  Block block{
      .stride = downsamples ? 2 : 1,
      .conv1 = tensors[name + ".conv1.weight"],
      .norm1 = batch_norm(tensors, name + ".bn1"),
      .conv2 = normed_conv(tensors[name + ".conv2.weight"], batch_norm(tensors, name + ".bn2")),
      .squeeze = conv_tensors(tensors.part(name + ".se.fc.0")),
      .excite = conv_tensors(tensors.part(name + ".se.fc.2")),
      .shortcut = {}};
  if (downsamples) {
    block.shortcut = normed_conv(tensors[name + ".downsample.0.weight"],
                                 batch_norm(tensors, name + ".downsample.1"));
  }
  return block;
}

// Frozen, both are one convolution.
SpeakerEncoder::NormedConv SpeakerEncoder::normed_conv(const at::Tensor& weight,
                                                       const BatchNorm& norm) const {
  if (mode_ == Mode::Training) return {.conv = {.weight = weight, .bias = {}}, .norm = norm};
  const auto scale = norm.weight / (norm.variance + kNormEpsilon).sqrt();  // [C]
  return {
      .conv = {.weight = weight * scale.view({-1, 1, 1, 1}), .bias = norm.bias - norm.mean * scale},
      .norm = {}};
}

at::Tensor SpeakerEncoder::BatchNorm::operator()(const at::Tensor& x) const {
  if (!weight.defined()) return x;
  const bool training = mode == Mode::Training;
  return at::batch_norm(x, weight, bias, mean, variance, training, kNormMomentum, kNormEpsilon,
                        /*cudnn_enabled=*/true);
}

at::Tensor SpeakerEncoder::operator()(const at::Tensor& waveforms) const {
  const auto vectors = unscaled(waveforms);
  return vectors / vectors.norm(2, 1, /*keepdim=*/true).clamp_min(kLeastLength);
}

at::Tensor SpeakerEncoder::unscaled(const at::Tensor& waveforms) const {
  auto x = features(waveforms).unsqueeze(1);  // [B, 1, bands, F]
  x = first_norm_(at::conv2d(x, first_.weight, first_.bias, /*stride=*/1, /*padding=*/1).relu_());
  for (const auto& block : blocks_) x = run_block(block, x);
  return at::linear(pooled(x.flatten(1, 2)), output_.weight, output_.bias);
}

// Log mel, each band with mean 0 and variance 1 over the clip, [B, bands, F].
at::Tensor SpeakerEncoder::features(const at::Tensor& waveforms) const {
  const auto padded = at::reflection_pad1d(waveforms.unsqueeze(1), {1, 0});
  const auto emphasised = exact_conv1d(padded, preemphasis_, {}).squeeze(1);
  const auto mel = (mel_(emphasised) + kLogOffset).log();
  return at::instance_norm(mel, {}, {}, {}, {}, /*use_input_stats=*/true, /*momentum=*/0.1,
                           kNormEpsilon, /*cudnn_enabled=*/true);
}

at::Tensor SpeakerEncoder::run_block(const Block& block, const at::Tensor& x) {
  auto y = at::conv2d(x, block.conv1, {}, block.stride, /*padding=*/1).relu_();
  y = block.conv2.norm(at::conv2d(block.norm1(y), block.conv2.conv.weight, block.conv2.conv.bias,
                                  /*stride=*/1, /*padding=*/1));
  auto weights = at::linear(y.mean({2, 3}), block.squeeze.weight, block.squeeze.bias).relu_();
  weights = at::linear(weights, block.excite.weight, block.excite.bias).sigmoid_();  // [B, C]
  const auto shortcut =
      block.shortcut.conv.weight.defined()
          ? block.shortcut.norm(
                at::conv2d(x, block.shortcut.conv.weight, block.shortcut.conv.bias, block.stride))
          : x;
  return at::addcmul(shortcut, y, weights.unsqueeze(-1).unsqueeze(-1)).relu_();
}

// Mean and deviation over time, weighted by attention: [B, C, F] to [B, 2C].
at::Tensor SpeakerEncoder::pooled(const at::Tensor& x) const {
  const auto hidden = attend_norm_(pointwise(attend_in_, x).relu_());
  const auto weights = at::softmax(pointwise(attend_out_, hidden), 2);
  const auto mean = (x * weights).sum(2);
  const auto variance = (x.square() * weights).sum(2) - mean.square();
  return at::cat({mean, variance.clamp_min(kLeastVariance).sqrt()}, 1);
}

}  // namespace myxtts
