// SPDX-License-Identifier: Apache-2.0
#include "listen/whisper.h"

#include <cmath>
#include <string>

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>
#include <fmt/format.h>

#include "base/error.h"
#include "config/model.h"

namespace myxtts {
namespace {

constexpr std::int64_t kWhisperFft = 400;  // samples
constexpr double kQuietest = 1e-10;        // power
constexpr double kRange = 8.0;             // of log10 below the loudest

MelConfig whisper_mel_config(std::int64_t bands) {
  return {.sample_rate = kWhisperRate,
          .fft_size = kWhisperFft,
          .window = kWhisperFft,
          .hop = kWhisperHop,
          .bands = bands};
}

// Slaney's scale: linear up to 1,000 Hz, logarithmic above.
constexpr double kLinearHz = 200.0 / 3.0;  // of a mel
constexpr double kBorderHz = 1000.0;
const double kLogStep = std::log(6.4) / 27.0;

double slaney_mel(double hz) {
  if (hz < kBorderHz) return hz / kLinearHz;
  return kBorderHz / kLinearHz + std::log(hz / kBorderHz) / kLogStep;
}

double slaney_hz(double mel) {
  const double border = kBorderHz / kLinearHz;
  return mel < border ? mel * kLinearHz : kBorderHz * std::exp(kLogStep * (mel - border));
}

// Triangles of area one, equally spaced on that scale, [bins, bands].
at::Tensor slaney_filters(const MelConfig& config) {
  const double top = static_cast<double>(config.sample_rate) / 2;
  const std::int64_t bins = config.fft_size / 2 + 1;
  const auto corner = [&](std::int64_t index) {
    return slaney_hz(slaney_mel(top) * static_cast<double>(index) /
                     static_cast<double>(config.bands + 1));
  };
  auto filters = at::zeros({bins, config.bands}, at::kFloat);
  auto values = filters.accessor<float, 2>();
  for (std::int64_t band = 0; band < config.bands; ++band) {
    const double low = corner(band);
    const double middle = corner(band + 1);
    const double high = corner(band + 2);
    for (std::int64_t bin = 0; bin < bins; ++bin) {
      const double hz = top * static_cast<double>(bin) / static_cast<double>(bins - 1);
      const double height = std::min((hz - low) / (middle - low), (high - hz) / (high - middle));
      if (height > 0) values[bin][band] = static_cast<float>(height * 2.0 / (high - low));
    }
  }
  return filters;
}

}  // namespace

WhisperMel::WhisperMel(std::int64_t bands, c10::Device device)
    : power_(whisper_mel_config(bands), mel_window(whisper_mel_config(bands)).to(device),
             slaney_filters(whisper_mel_config(bands)).to(device)) {}

at::Tensor WhisperMel::operator()(const at::Tensor& waveforms) const {
  MYXTTS_CHECK(waveforms.dim() == 2 && waveforms.size(1) % kWhisperHop == 0,
               "Whisper hears whole frames of {} samples", kWhisperHop);
  const auto power = power_(waveforms);  // [B, bands, frames + 1]
  const auto log = power.narrow(2, 0, power.size(2) - 1).clamp_min(kQuietest).log10();
  const auto floor = log.amax({1, 2}, /*keepdim=*/true) - kRange;
  return (at::maximum(log, floor) + 4.0) / 4.0;
}

at::Tensor Whisper::Linear::operator()(const at::Tensor& x) const {
  return at::linear(x, weight, bias);
}

at::Tensor Whisper::Norm::operator()(const at::Tensor& x) const {
  return at::layer_norm(x, weight.sizes(), weight, bias);
}

void Whisper::Reading::keep(const at::Tensor& rows) {
  for (auto* layers : {&own, &sound}) {
    for (at::Tensor& layer : *layers) layer = layer.index_select(1, rows);
  }
}

at::Tensor Whisper::placed(const at::Tensor& tensor) const {
  return tensor.to(device_, type_).contiguous();
}

// What reads the same input is one layer here. Keys have no bias.
Whisper::Block Whisper::block_from(const TensorScope& tensors, bool reads_sound) const {
  const auto linear = [&](const std::string& name) {
    return Linear{placed(tensors[name + ".weight"]), placed(tensors[name + ".bias"])};
  };
  const auto norm = [&](const std::string& name) {
    return Norm{placed(tensors[name + ".weight"]), placed(tensors[name + ".bias"])};
  };
  const auto joined = [&](const std::string& name, const std::vector<std::string>& parts) {
    std::vector<at::Tensor> weights;
    std::vector<at::Tensor> biases;
    for (const std::string& part : parts) {
      weights.push_back(placed(tensors[name + part + ".weight"]));
      biases.push_back(part == "key" ? at::zeros({sizes_.width}, weights.back().options())
                                     : placed(tensors[name + part + ".bias"]));
    }
    return Linear{at::cat(weights), at::cat(biases)};
  };
  Block block{.attend_norm = norm("attn_ln"),
              .qkv = joined("attn.", {"query", "key", "value"}),
              .attend_out = linear("attn.out"),
              .sound_norm = {},
              .sound_query = {},
              .sound_keys_values = {},
              .sound_out = {},
              .mlp_norm = norm("mlp_ln"),
              .mlp_in = linear("mlp.0"),
              .mlp_out = linear("mlp.2")};
  if (!reads_sound) return block;
  block.sound_norm = norm("cross_attn_ln");
  block.sound_query = linear("cross_attn.query");
  block.sound_keys_values = joined("cross_attn.", {"key", "value"});
  block.sound_out = linear("cross_attn.out");
  return block;
}

Whisper::Whisper(const WhisperSizes& sizes, const NamedTensors& tensors, c10::Device device,
                 at::ScalarType type)
    : sizes_(sizes), device_(device), type_(type) {
  const TensorScope all(tensors);
  const TensorScope encoder = all.part("encoder");
  const TensorScope decoder = all.part("decoder");
  conv1_ = placed(encoder["conv1.weight"]);
  conv1_bias_ = placed(encoder["conv1.bias"]);
  conv2_ = placed(encoder["conv2.weight"]);
  conv2_bias_ = placed(encoder["conv2.bias"]);
  sound_places_ = placed(encoder["positional_embedding"]);
  text_places_ = placed(decoder["positional_embedding"]);
  embedding_ = placed(decoder["token_embedding.weight"]);
  encoder_norm_ = {placed(encoder["ln_post.weight"]), placed(encoder["ln_post.bias"])};
  decoder_norm_ = {placed(decoder["ln.weight"]), placed(decoder["ln.bias"])};
  for (std::int64_t i = 0; i < sizes.audio_layers; ++i) {
    encoder_.push_back(block_from(encoder.part(fmt::format("blocks.{}", i)), false));
  }
  for (std::int64_t i = 0; i < sizes.text_layers; ++i) {
    decoder_.push_back(block_from(decoder.part(fmt::format("blocks.{}", i)), true));
  }
}

namespace {

// [B, T, parts · width] to [parts, B, heads, T, width / heads].
at::Tensor into_heads(const at::Tensor& x, std::int64_t parts, std::int64_t heads) {
  return x.view({x.size(0), x.size(1), parts, heads, -1}).permute({2, 0, 3, 1, 4});
}

// [B, heads, T, width / heads] to [B, T, width].
at::Tensor out_of_heads(const at::Tensor& x) {
  return x.transpose(1, 2).flatten(2);
}

}  // namespace

at::Tensor Whisper::feed_forward(const Block& block, const at::Tensor& x) const {
  return x + block.mlp_out(at::gelu(block.mlp_in(block.mlp_norm(x))));
}

at::Tensor Whisper::encode(const at::Tensor& mel, const std::function<bool()>& wanted) const {
  const c10::AutoGradMode no_gradients(false);
  auto x = at::gelu(at::conv1d(mel.to(device_, type_), conv1_, conv1_bias_, 1, 1));
  x = at::gelu(at::conv1d(x, conv2_, conv2_bias_, kFramesOfPlace, 1));
  x = x.transpose(1, 2).contiguous() + sound_places_;  // [B, audio_context, width]
  for (const Block& block : encoder_) {
    if (wanted && !wanted()) return {};
    const auto qkv = into_heads(block.qkv(block.attend_norm(x)), 3, sizes_.audio_heads);
    const auto seen = at::scaled_dot_product_attention(qkv[0], qkv[1], qkv[2]);
    x = x + block.attend_out(out_of_heads(seen));
    x = feed_forward(block, x);
  }
  return encoder_norm_(x);
}

Whisper::Reading Whisper::begin(const at::Tensor& encoded) const {
  const c10::AutoGradMode no_gradients(false);
  Reading reading;
  const auto size = sizes_.width / sizes_.text_heads;
  for (const Block& block : decoder_) {
    reading.sound.push_back(
        into_heads(block.sound_keys_values(encoded), 2, sizes_.text_heads).contiguous());
    reading.own.push_back(at::empty(
        {2, encoded.size(0), sizes_.text_heads, sizes_.text_context, size}, encoded.options()));
  }
  return reading;
}

at::Tensor Whisper::attend_to_sound(std::size_t layer, const at::Tensor& x, const at::Tensor& sound,
                                    Attention* attention) const {
  const Block& block = decoder_[layer];
  const auto query = into_heads(block.sound_query(block.sound_norm(x)), 1, sizes_.text_heads)[0];
  std::vector<std::int64_t> heads;
  if (attention != nullptr) {
    for (const auto& [of_layer, head] : attention->heads) {
      if (of_layer == static_cast<std::int64_t>(layer)) heads.push_back(head);
    }
  }
  if (!heads.empty()) {
    const auto rows = at::tensor(heads, at::kLong).to(device_);
    const double scale = 1.0 / std::sqrt(static_cast<double>(query.size(3)));
    const auto keys = sound[0].index_select(1, rows).transpose(2, 3);
    const auto scores = at::matmul(query.index_select(1, rows) * scale, keys);
    attention->weights.push_back(scores.to(at::kFloat).softmax(-1));
  }
  const auto seen = at::scaled_dot_product_attention(query, sound[0], sound[1]);
  return x + block.sound_out(out_of_heads(seen));
}

at::Tensor Whisper::read(Reading& reading, const at::Tensor& tokens, Attention* attention) const {
  const c10::AutoGradMode no_gradients(false);
  const auto count = tokens.size(1);
  MYXTTS_CHECK(reading.length + count <= sizes_.text_context, "a text of {} tokens is too long",
               reading.length + count);
  auto x = at::embedding(embedding_, tokens) + text_places_.narrow(0, reading.length, count);
  const auto length = reading.length + count;
  // With what was read before, each of several tokens sees that and what stands before itself.
  at::Tensor mask;
  if (count > 1) {
    mask = at::ones({count, length}, tokens.options().dtype(at::kBool)).tril(reading.length);
  }
  for (std::size_t layer = 0; layer < decoder_.size(); ++layer) {
    const Block& block = decoder_[layer];
    const auto qkv = into_heads(block.qkv(block.attend_norm(x)), 3, sizes_.text_heads);
    reading.own[layer].narrow(3, reading.length, count).copy_(qkv.narrow(0, 1, 2));
    const auto before = reading.own[layer].narrow(3, 0, length);
    const auto seen = at::scaled_dot_product_attention(
        qkv[0], before[0], before[1],
        mask.defined() ? std::optional(mask) : std::optional<at::Tensor>());
    x = x + block.attend_out(out_of_heads(seen));
    x = attend_to_sound(layer, x, reading.sound[layer], attention);
    x = feed_forward(block, x);
  }
  reading.length = length;
  return decoder_norm_(x);
}

at::Tensor Whisper::scores(const at::Tensor& states) const {
  const c10::AutoGradMode no_gradients(false);
  return at::linear(states, embedding_).to(at::kFloat);
}

}  // namespace myxtts
