// SPDX-License-Identifier: Apache-2.0
#include "synth/decode_engine.h"

#include <ATen/ATen.h>

#include "base/error.h"
#include "model/gpt.h"
#include "synth/beam_search.h"
#include "synth/sampling.h"

namespace myxtts {

bool report_codes(const DecodeEngine& engine, std::size_t row, const CodeListener& listener,
                  std::int64_t& heard) {
  const RowProgress now = engine.progress(row);
  while (heard < now.codes) {
    const std::int64_t due =
        listener.every > 0 ? (heard / listener.every + 1) * listener.every : now.codes + 1;
    const bool ends = due >= now.codes && now.finished;
    if (due > now.codes && !ends) return true;
    heard = ends ? now.codes : due;
    const GeneratedRow made = engine.row(row);
    if (!listener.hear({row, std::span(made.codes).first(as_index(heard)),
                        made.states.narrow(0, 0, heard), ends})) {
      return false;
    }
  }
  return true;
}

DecodeEngine::DecodeEngine(const GptConfig& config, const DecodeCapacity& capacity,
                           c10::Device device)
    : config_(config),
      capacity_{capacity.rows, capacity.codes > 0 ? capacity.codes : most_codes(config)},
      device_(device) {}

std::vector<GeneratedRow> DecodeEngine::generate(std::span<const DecodePrefix> prefixes,
                                                 const SamplingSettings& settings,
                                                 const CodeListener& listener) {
  MYXTTS_CHECK(settings.beams == 1, "rows were asked for {} beams each", settings.beams);
  std::vector<std::int64_t> heard(prefixes.size(), 0);
  for (std::size_t i = 0; i < prefixes.size(); ++i) start(i, prefixes[i], settings);
  for (bool goes_on = true; goes_on;) {
    advance();
    goes_on = false;
    for (std::size_t i = 0; i < prefixes.size(); ++i) {
      if (listener.hear && !report_codes(*this, i, listener, heard[i])) {
        goes_on = false;
        break;
      }
      goes_on = goes_on || !progress(i).finished;
    }
  }
  std::vector<GeneratedRow> result;
  for (std::size_t i = 0; i < prefixes.size(); ++i) {
    stop(i);
    result.push_back(row(i));
  }
  return result;
}

GeneratedRow generate_with_beams(DecodeEngine& engine, const DecodePrefix& prefix,
                                 const SamplingSettings& settings) {
  const auto beams = static_cast<std::size_t>(settings.beams);
  BeamSearch search(engine.config(), settings, engine.capacity().codes, prefix.number);
  const std::vector<DecodePrefix> prefixes(beams, prefix);
  engine.begin(prefixes);
  std::vector<at::Tensor> states;  // [beams, D] of each step
  while (true) {
    states.push_back(engine.states().clone());
    auto logits = engine.logits().to(at::kCPU, at::kFloat, /*non_blocking=*/false, /*copy=*/true);
    search.advance(values_of(logits));
    if (search.ended()) break;
    engine.reorder(search.from());
    engine.step(search.codes());
  }
  const Beam& best = search.best();
  std::vector<at::Tensor> own;
  for (std::size_t step = 0; step < best.codes.size(); ++step) {
    own.push_back(states[step][best.rows[step]]);
  }
  return {best.codes, at::stack(own), best.codes.back() == engine.config().stop_audio};
}

std::int64_t most_text_tokens(const GptConfig& config) {
  return config.max_text_tokens - 1;
}

std::int64_t most_codes(const GptConfig& config) {
  constexpr std::int64_t kUnused = 3;  // positions that the public model leaves free at its end
  return config.max_audio_tokens - kUnused;
}

std::unique_ptr<DecodeEngine> make_decode_engine(const GptConfig& config,
                                                 const NamedTensors& weights,
                                                 const DecodeCapacity& capacity,
                                                 c10::Device device) {
  if (device.is_cpu()) return make_cpu_engine(config, weights, capacity);
  if (device.is_cuda())
    return make_cuda_engine(config, weights, capacity, {.device = device.index()});
  throw DeviceError(fmt::format(
      "Nothing here generates codes on the device {}; use --device cpu, or a build with CUDA.",
      device.str()));
}

NamedTensors gpt_weights_on(const NamedTensors& weights, c10::Device device) {
  NamedTensors result;
  for (const auto& [name, tensor] : weights) {
    if (name.starts_with(kGptPrefix)) result[name] = tensor.to(device, at::kFloat).contiguous();
  }
  return result;
}

PrefixReader::PrefixReader(const GptConfig& config, const NamedTensors& weights) : config_(config) {
  const TensorScope scope(weights, kGptPrefix);
  text_embedding_ = scope["text_embedding.weight"];
  text_positions_ = scope["text_pos_embedding.emb.weight"];
  for (std::int64_t i = 0; i < config.layers; ++i) {
    const auto layer = scope.part(fmt::format("gpt.h.{}", i));
    const auto weights_of = [&](const char* part) {
      return linear_weights(layer.part(part), WeightLayout::InOut);
    };
    layers_.push_back({norm_weights(layer.part("ln_1")), weights_of("attn.c_attn"),
                       weights_of("attn.c_proj"), norm_weights(layer.part("ln_2")),
                       weights_of("mlp.c_fc"), weights_of("mlp.c_proj")});
  }
}

at::Tensor PrefixReader::read(at::Tensor x, const Sink& sink) const {
  const auto heads = [&](const at::Tensor& part) {
    return part.view({1, x.size(0), config_.heads, -1}).transpose(1, 2);  // [1, H, N, width]
  };
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    const Layer& layer = layers_[i];
    const auto parts = linear(layer_norm(x, layer.before_attention), layer.qkv).chunk(3, 1);
    const auto mixed = at::scaled_dot_product_attention(heads(parts[0]), heads(parts[1]),
                                                        heads(parts[2]), {}, 0.0, true);
    x = x + linear(mixed.transpose(1, 2).reshape(x.sizes()), layer.attention_out);
    const auto hidden = at::gelu(linear(layer_norm(x, layer.before_mlp), layer.mlp_in), "tanh");
    x = x + linear(hidden, layer.mlp_out);
    sink(static_cast<std::int64_t>(i), parts[1].contiguous(), parts[2].contiguous());
  }
  return x;
}

at::Tensor PrefixReader::embed(const DecodePrefix& prefix) const {
  const auto count = static_cast<std::int64_t>(prefix.text.size());
  if (count > most_text_tokens(config_)) {
    throw DataError(fmt::format("A text of {} tokens is too long for the model, which takes {}.",
                                count, most_text_tokens(config_)));
  }
  std::vector<std::int64_t> ids = {config_.start_text};
  ids.insert(ids.end(), prefix.text.begin(), prefix.text.end());
  ids.push_back(config_.stop_text);
  const auto device = text_embedding_.device();
  const auto text = text_embedding_.index_select(0, at::tensor(ids, at::kLong).to(device)) +
                    text_positions_.narrow(0, 0, count + 2);
  return at::cat({prefix.latents.to(device, at::kFloat), text});
}

}  // namespace myxtts
