// SPDX-License-Identifier: Apache-2.0
#include "model/gpt_specs.h"

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "model/tensor_spec.h"

namespace myxtts {
namespace {

using Shape = std::vector<std::int64_t>;

constexpr const char* kWidth = "gpt.width";
constexpr double kNarrow = 0.02;  // GPT-2's standard deviation

// Collects the tensors of a network part by part.
class SpecList {
 public:
  void add(std::string name, Shape shape, Init init, double scale, const char* field) {
    specs_.push_back({.name = std::move(name),
                      .shape = std::move(shape),
                      .init = init,
                      .scale = scale,
                      .explained_by = field});
  }

  // Scale and shift of a layer or group norm.
  void norm(const std::string& name, std::int64_t width) {
    add(name + ".weight", {width}, Init::Ones, 0.0, kWidth);
    add(name + ".bias", {width}, Init::Zeros, 0.0, kWidth);
  }

  // The weight's first dimension is the output.
  void linear(const std::string& name, const Shape& shape, const char* field = kWidth) {
    append_layer(specs_, name, shape, field);
  }

  void linear_without_bias(const std::string& name, std::int64_t outputs, std::int64_t inputs) {
    append_layer_without_bias(specs_, name, {outputs, inputs}, kWidth);
  }

  // GPT-2's layer, stored [inputs, outputs].
  void transposed(const std::string& name, std::int64_t inputs, std::int64_t outputs,
                  double deviation) {
    add(name + ".weight", {inputs, outputs}, Init::Normal, deviation, kWidth);
    add(name + ".bias", {outputs}, Init::Zeros, 0.0, kWidth);
  }

  TensorSpecs take() { return std::move(specs_); }

 private:
  TensorSpecs specs_;
};

// How many codes a letter lasts when it is spoken: so fast go the text's positions beside theirs.
constexpr double kCodesOfALetter = 1.4;

void add_conditioning_encoder(SpecList& list, const GptConfig& config) {
  const std::int64_t width = config.width;
  list.linear("conditioning_encoder.init", {width, config.mel_bands, 1});
  for (std::int64_t block = 0; block < config.conditioning_blocks; ++block) {
    const std::string name = fmt::format("conditioning_encoder.attn.{}", block);
    list.norm(name + ".norm", width);
    list.linear(name + ".qkv", {3 * width, width, 1});
    // Zero, so that a new block passes its input on.
    list.add(name + ".proj_out.weight", {width, width, 1}, Init::Zeros, 0.0, kWidth);
    list.add(name + ".proj_out.bias", {width}, Init::Zeros, 0.0, kWidth);
  }
}

void add_embeddings(SpecList& list, const GptConfig& config) {
  const std::int64_t width = config.width;
  list.add("text_embedding.weight", {config.text_ids, width}, Init::Normal, 1.0, "gpt.text_ids");
  list.add("mel_embedding.weight", {config.audio_ids, width}, Init::Normal, 1.0, "gpt.audio_ids");
}

void add_transformer(SpecList& list, const GptConfig& config) {
  const std::int64_t width = config.width;
  const double residual = kNarrow / std::sqrt(2.0 * static_cast<double>(config.layers));
  for (std::int64_t layer = 0; layer < config.layers; ++layer) {
    const std::string name = fmt::format("gpt.h.{}", layer);
    list.norm(name + ".ln_1", width);
    list.transposed(name + ".attn.c_attn", width, 3 * width, kNarrow);
    list.transposed(name + ".attn.c_proj", width, width, residual);
    list.norm(name + ".ln_2", width);
    list.transposed(name + ".mlp.c_fc", width, 4 * width, kNarrow);
    list.transposed(name + ".mlp.c_proj", 4 * width, width, residual);
  }
  list.norm("gpt.ln_f", width);
}

void add_positions_and_heads(SpecList& list, const GptConfig& config) {
  const std::int64_t width = config.width;
  // Beside embeddings of deviation 1, positions of deviation 0.02, which the public model began
  // with, distinguish places only after thousands of steps: too late for a small corpus.
  list.add("mel_pos_embedding.emb.weight", {config.audio_positions(), width}, Init::Waves, 1.0,
           "gpt.max_audio_tokens");
  list.add("text_pos_embedding.emb.weight", {config.text_positions(), width}, Init::Waves,
           kCodesOfALetter, "gpt.max_text_tokens");
  list.norm("final_norm", width);
  list.linear("text_head", {config.text_ids, width}, "gpt.text_ids");
  list.linear("mel_head", {config.audio_ids, width}, "gpt.audio_ids");
}

void add_perceiver(SpecList& list, const GptConfig& config) {
  const std::int64_t width = config.width;
  const std::int64_t inner = config.perceiver_width();
  const std::int64_t hidden = perceiver_hidden(config);
  list.add("conditioning_perceiver.latents", {config.perceiver_latents, width}, Init::Normal,
           kNarrow, kWidth);
  for (std::int64_t layer = 0; layer < config.perceiver_depth; ++layer) {
    const std::string name = fmt::format("conditioning_perceiver.layers.{}", layer);
    list.linear_without_bias(name + ".0.to_q", inner, width);
    list.linear_without_bias(name + ".0.to_kv", 2 * inner, width);
    list.linear_without_bias(name + ".0.to_out", width, inner);
    list.linear(name + ".1.0", {2 * hidden, width});
    list.linear(name + ".1.2", {width, hidden});
  }
  list.add("conditioning_perceiver.norm.gamma", {width}, Init::Ones, 0.0, kWidth);
}

}  // namespace

std::int64_t perceiver_hidden(const GptConfig& config) {
  return config.width * 8 / 3;
}

TensorSpecs gpt_specs(const GptConfig& config) {
  SpecList list;
  add_conditioning_encoder(list, config);
  add_embeddings(list, config);
  add_transformer(list, config);
  add_positions_and_heads(list, config);
  add_perceiver(list, config);
  return list.take();
}

}  // namespace myxtts
