// SPDX-License-Identifier: Apache-2.0
#include "synth/decode_engine.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <c10/core/GradMode.h>

#include "base/error.h"
#include "model/gpt.h"
#include "model/layers.h"
#include "synth/cpu/cpu_gpt.h"

namespace myxtts {
namespace {

// A layer that reads a whole prefix.
struct PrefixLayer {
  PrefixLayer(const TensorScope& scope, std::int64_t head_count)
      : heads(head_count),
        before_attention(scope.part("ln_1")),
        qkv(scope.part("attn.c_attn")),
        attention_out(scope.part("attn.c_proj")),
        before_mlp(scope.part("ln_2")),
        mlp_in(scope.part("mlp.c_fc")),
        mlp_out(scope.part("mlp.c_proj")) {}

  // x [N, D] grows by what the layer adds; gives keys and values [N, D].
  std::pair<at::Tensor, at::Tensor> operator()(at::Tensor& x) const {
    const auto parts = qkv(before_attention(x)).chunk(3, 1);
    const auto split = [&](const at::Tensor& part) {
      return part.view({1, x.size(0), heads, -1}).transpose(1, 2);  // [1, H, N, width]
    };
    const auto mixed = at::scaled_dot_product_attention(split(parts[0]), split(parts[1]),
                                                        split(parts[2]), {}, 0.0, true);
    x = x + attention_out(mixed.transpose(1, 2).reshape(x.sizes()));
    x = x + mlp_out(at::gelu(mlp_in(before_mlp(x)), "tanh"));
    return {parts[1].contiguous(), parts[2].contiguous()};
  }

  std::int64_t heads;
  LayerNorm before_attention;
  TransposedLinear qkv;
  TransposedLinear attention_out;
  LayerNorm before_mlp;
  TransposedLinear mlp_in;
  TransposedLinear mlp_out;
};

// With fewer weights to read for each code, members of a team would mostly wait for each other.
constexpr std::int64_t kWeightsOfAThread = 2'000'000;

class EngineCpu final : public DecodeEngine {
 public:
  EngineCpu(const GptConfig& config, const NamedTensors& weights, const DecodeCapacity& capacity);

  void begin(std::span<const DecodePrefix> rows) override;
  void step(std::span<const std::int64_t> codes) override;
  void reorder(std::span<const std::int64_t> from) override;
  at::Tensor logits() const override { return logits_.narrow(0, 0, rows()); }
  at::Tensor states() const override { return states_.narrow(0, 0, rows()); }
  std::vector<GeneratedRow> generate(std::span<const DecodePrefix> prefixes,
                                     const SamplingSettings& settings,
                                     const CodeListener& listener) override {
    return generate_by_steps(*this, prefixes, settings, listener);
  }
  const GptConfig& config() const override { return config_; }
  DecodeCapacity capacity() const override { return capacity_; }
  c10::Device device() const override { return c10::kCPU; }

 private:
  std::int64_t rows() const { return static_cast<std::int64_t>(lengths_.size()); }
  CpuGpt::Sizes sizes() const;
  at::Tensor embed(const DecodePrefix& prefix) const;  // [N, D]
  void read_prefix(std::size_t row, const DecodePrefix& prefix);
  void copy_outputs(std::size_t from, std::size_t row);

  GptConfig config_;
  DecodeCapacity capacity_;
  at::Tensor text_embedding_;
  at::Tensor text_positions_;
  at::Tensor audio_embedding_;
  at::Tensor audio_positions_;
  std::vector<PrefixLayer> prefix_layers_;
  CpuGpt layers_;
  at::Tensor inputs_;  // [rows, D]
  at::Tensor logits_;  // [rows, audio ids]
  at::Tensor states_;  // [rows, D]

  // Of each row.
  std::vector<std::size_t> slots_;           // its place in the cache
  std::vector<std::size_t> lengths_;         // positions that are filled there
  std::vector<std::size_t> prefix_lengths_;  // those before the start code
};

NamedTensors on_cpu(const NamedTensors& weights) {
  NamedTensors result;
  for (const auto& [name, tensor] : weights) {
    if (name.starts_with(kGptPrefix)) result[name] = tensor.to(at::kCPU, at::kFloat).contiguous();
  }
  return result;
}

EngineCpu::EngineCpu(const GptConfig& config, const NamedTensors& weights,
                     const DecodeCapacity& capacity)
    : config_(config),
      capacity_{capacity.rows, capacity.codes > 0 ? capacity.codes : most_codes(config)},
      text_embedding_(weights.at("gpt.text_embedding.weight")),
      text_positions_(weights.at("gpt.text_pos_embedding.emb.weight")),
      audio_embedding_(weights.at("gpt.mel_embedding.weight")),
      audio_positions_(weights.at("gpt.mel_pos_embedding.emb.weight")),
      layers_(
          config,
          [&](const std::string& name) {
            return weights.at(kGptPrefix + name).const_data_ptr<float>();
          },
          sizes()),
      inputs_(at::empty({capacity_.rows, config.width}, at::kFloat)),
      logits_(at::empty({capacity_.rows, config.audio_ids}, at::kFloat)),
      states_(at::empty({capacity_.rows, config.width}, at::kFloat)) {
  const TensorScope scope(weights, kGptPrefix);
  for (std::int64_t layer = 0; layer < config.layers; ++layer) {
    prefix_layers_.emplace_back(scope.part(fmt::format("gpt.h.{}", layer)), config.heads);
  }
}

CpuGpt::Sizes EngineCpu::sizes() const {
  const auto prefix = config_.perceiver_latents + most_text_tokens(config_) + 3;
  const auto weights = config_.layers * 12 * config_.width * config_.width;
  const auto worthwhile = 1 + weights / kWeightsOfAThread;
  return {.rows = as_index(capacity_.rows),
          .positions = as_index(prefix + capacity_.codes),
          .threads = as_index(std::min<std::int64_t>(at::get_num_threads(), worthwhile))};
}

void EngineCpu::begin(std::span<const DecodePrefix> rows) {
  const c10::AutoGradMode no_gradients(false);
  MYXTTS_CHECK(!rows.empty() && rows.size() <= as_index(capacity_.rows),
               "{} rows for an engine of {}", rows.size(), capacity_.rows);
  lengths_.assign(rows.size(), 0);
  prefix_lengths_.assign(rows.size(), 0);
  slots_.resize(rows.size());
  std::iota(slots_.begin(), slots_.end(), std::size_t{0});
  for (std::size_t row = 0; row < rows.size(); ++row) read_prefix(row, rows[row]);
}

void EngineCpu::read_prefix(std::size_t row, const DecodePrefix& prefix) {
  auto x = embed(prefix);
  const auto count = as_index(x.size(0));
  for (std::size_t layer = 0; layer < prefix_layers_.size(); ++layer) {
    const auto [keys, values] = prefix_layers_[layer](x);
    layers_.write_prefix(row, layer, keys.const_data_ptr<float>(), values.const_data_ptr<float>(),
                         count);
  }
  const auto last = x[-1].contiguous();
  const std::array<const float*, 1> hidden = {last.const_data_ptr<float>()};
  layers_.finish(hidden);
  copy_outputs(0, row);
  lengths_[row] = count;
  prefix_lengths_[row] = count - 1;  // the start code stands at the first position of codes
}

at::Tensor EngineCpu::embed(const DecodePrefix& prefix) const {
  const auto count = static_cast<std::int64_t>(prefix.text.size());
  if (count > most_text_tokens(config_)) {
    throw DataError(fmt::format("A text of {} tokens is too long for the model, which takes {}.",
                                count, most_text_tokens(config_)));
  }
  std::vector<std::int64_t> ids = {config_.start_text};
  ids.insert(ids.end(), prefix.text.begin(), prefix.text.end());
  ids.push_back(config_.stop_text);
  const auto text = text_embedding_.index_select(0, at::tensor(ids, at::kLong)) +
                    text_positions_.narrow(0, 0, count + 2);
  const auto start = audio_embedding_[config_.start_audio] + audio_positions_[0];
  return at::cat({prefix.latents.to(at::kCPU, at::kFloat), text, start.unsqueeze(0)});
}

void EngineCpu::step(std::span<const std::int64_t> codes) {
  const c10::AutoGradMode no_gradients(false);
  MYXTTS_CHECK(codes.size() == lengths_.size(), "{} codes for {} rows", codes.size(),
               lengths_.size());
  const float* embeddings = audio_embedding_.const_data_ptr<float>();
  const float* positions = audio_positions_.const_data_ptr<float>();
  std::vector<CpuGpt::Input> inputs;
  std::vector<std::size_t> input_rows;
  for (std::size_t row = 0; row < codes.size(); ++row) {
    if (codes[row] == kEnded) continue;
    const std::size_t width = as_index(config_.width);
    float* input = inputs_.mutable_data_ptr<float>() + row * width;
    const float* embedding = embeddings + as_index(codes[row]) * width;
    const float* position = positions + (lengths_[row] - prefix_lengths_[row]) * width;
    for (std::size_t i = 0; i < width; ++i) input[i] = embedding[i] + position[i];
    inputs.push_back({slots_[row], lengths_[row]++, input});
    input_rows.push_back(row);
  }
  layers_.step(inputs);
  for (std::size_t i = 0; i < inputs.size(); ++i) copy_outputs(i, input_rows[i]);
}

void EngineCpu::copy_outputs(std::size_t from, std::size_t row) {
  const auto copy = [row](const float* values, at::Tensor& to) {
    const auto width = as_index(to.size(1));
    std::copy_n(values, width, to.mutable_data_ptr<float>() + row * width);
  };
  copy(layers_.state(from), states_);
  copy(layers_.logits(from), logits_);
}

// The first row to go on from another takes its place in the cache over; further ones get a copy,
// in a place that nobody goes on from.
void EngineCpu::reorder(std::span<const std::int64_t> from) {
  MYXTTS_CHECK(from.size() == lengths_.size(), "{} places for {} rows", from.size(),
               lengths_.size());
  std::vector<bool> keeps_place(slots_.size(), false);
  std::vector<std::size_t> free;
  for (const auto source : from) keeps_place.at(as_index(source)) = true;
  for (std::size_t row = 0; row < slots_.size(); ++row) {
    if (!keeps_place[row]) free.push_back(slots_[row]);
  }
  const auto before = slots_;
  const auto lengths = lengths_;
  const auto prefix_lengths = prefix_lengths_;
  for (std::size_t row = 0; row < from.size(); ++row) {
    const auto source = as_index(from[row]);
    lengths_[row] = lengths[source];
    prefix_lengths_[row] = prefix_lengths[source];
    if (keeps_place[source]) {
      keeps_place[source] = false;
      slots_[row] = before[source];
      continue;
    }
    slots_[row] = free.back();
    free.pop_back();
    layers_.copy_row(before[source], slots_[row], lengths[source]);
  }
}

}  // namespace

std::unique_ptr<DecodeEngine> make_cpu_engine(const GptConfig& config, const NamedTensors& weights,
                                              const DecodeCapacity& capacity,
                                              c10::Device /*device*/) {
  return std::make_unique<EngineCpu>(config, on_cpu(weights), capacity);
}

}  // namespace myxtts
