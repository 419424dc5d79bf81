// SPDX-License-Identifier: Apache-2.0
#include "synth/decode_engine.h"

#include <utility>

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include "base/error.h"
#include "base/random.h"
#include "device/cuda_plugin.h"
#include "model/gpt.h"

namespace myxtts {
namespace {

// Steps queued at once. One such run is always ahead of the host.
constexpr std::int64_t kRun = 8;

// The checkpoint's tensors under the names of kernels/.
CodeDecoderWeights weight_views(const GptConfig& config, const NamedTensors& weights) {
  const TensorScope scope(weights, kGptPrefix);
  const auto data = [&](const std::string& name) { return scope[name].const_data_ptr<float>(); };
  const auto norm = [&](const std::string& name) -> NormView {
    return {data(name + ".weight"), data(name + ".bias")};
  };
  const auto linear = [&](const std::string& name) -> LinearView {
    return {data(name + ".weight"), data(name + ".bias")};
  };
  CodeDecoderWeights views;
  for (std::int64_t i = 0; i < config.layers; ++i) {
    const auto name = fmt::format("gpt.h.{}.", i);
    views.layers.push_back({.before_attention = norm(name + "ln_1"),
                            .qkv = linear(name + "attn.c_attn"),
                            .attention_out = linear(name + "attn.c_proj"),
                            .before_mlp = norm(name + "ln_2"),
                            .mlp_in = linear(name + "mlp.c_fc"),
                            .mlp_out = linear(name + "mlp.c_proj")});
  }
  views.last_norm = norm("gpt.ln_f");
  views.final_norm = norm("final_norm");
  views.head = linear("mel_head");
  views.embedding = data("mel_embedding.weight");
  views.positions = data("mel_pos_embedding.emb.weight");
  return views;
}

CodeDecoderShape shape_of(const GptConfig& config, const DecodeCapacity& capacity) {
  const auto prefix = config.perceiver_latents + most_text_tokens(config) + 2;
  return {.layers = config.layers,
          .width = config.width,
          .heads = config.heads,
          .ids = config.audio_ids,
          .positions = config.audio_positions(),
          .start = config.start_audio,
          .stop = config.stop_audio,
          .rows = capacity.rows,
          .capacity = prefix + capacity.codes,
          .most_codes = capacity.codes};
}

SamplingRule rule_of(const SamplingSettings& settings, std::uint32_t number) {
  return {.greedy = settings.greedy,
          .repetition_penalty = static_cast<float>(settings.repetition_penalty),
          .temperature = static_cast<float>(settings.temperature),
          .top_k = static_cast<std::int32_t>(settings.top_k),
          .top_p = static_cast<float>(settings.top_p),
          .seed = settings.seed,
          .stream = RandomStream(settings.seed, kSamplingStream).stream(),
          .first_draw = std::uint64_t{number} << 32U};
}

class EngineCuda final : public DecodeEngine {
 public:
  EngineCuda(const GptConfig& config, const NamedTensors& weights, const DecodeCapacity& capacity,
             CodeDecoderOptions options)
      : DecodeEngine(config, capacity, {c10::kCUDA, static_cast<c10::DeviceIndex>(options.device)}),
        prefixes_(config, weights) {
    options.shape = shape_of(config, this->capacity());
    wait_for_libtorch();
    decoder_ = make_cuda_code_decoder(options, weight_views(config, weights));
  }

  void start(std::size_t row, const DecodePrefix& prefix,
             const SamplingSettings& settings) override {
    MYXTTS_CHECK(row < as_index(capacity().rows), "row {} of an engine of {}", row,
                 capacity().rows);
    stop(row);
    load(static_cast<std::int64_t>(row), prefix, rule_of(settings, prefix.number));
    is_ahead_ = false;  // it waited for what was queued
  }

  void advance() override {
    if (!std::exchange(is_ahead_, true)) decoder_->advance(kRun);
    decoder_->advance(kRun);
    decoder_->wait(kRun);
  }

  RowProgress progress(std::size_t row) const override {
    return decoder_->progress(static_cast<std::int64_t>(row));
  }

  GeneratedRow row(std::size_t row) const override {
    const auto number = static_cast<std::int64_t>(row);
    const auto count = decoder_->progress(number).codes;
    const auto* codes = decoder_->codes(number);
    return {.codes = {codes, codes + count},
            .states = view(decoder_->latents(number), {count, config().width}).clone(),
            .stopped = count > 0 && codes[count - 1] == config().stop_audio};
  }

  void stop(std::size_t row) override {
    if (!progress(row).finished) decoder_->stop(static_cast<std::int64_t>(row));
  }

  void begin(std::span<const DecodePrefix> rows) override {
    MYXTTS_CHECK(!rows.empty() && rows.size() <= as_index(capacity().rows),
                 "{} rows for an engine of {}", rows.size(), capacity().rows);
    for (std::size_t row = 0; row < as_index(capacity().rows); ++row) stop(row);
    rows_ = static_cast<std::int64_t>(rows.size());
    for (std::int64_t row = 0; row < rows_; ++row) {
      load(row, rows[as_index(row)], {.by_caller = true});
    }
    is_ahead_ = false;
    decoder_->advance(1);
    decoder_->wait();
  }

  void step(std::span<const std::int64_t> codes) override {
    for (std::size_t row = 0; row < codes.size(); ++row) {
      const auto number = static_cast<std::int64_t>(row);
      if (!decoder_->progress(number).finished) decoder_->feed(number, codes[row]);
    }
    decoder_->advance(1);
    decoder_->wait();
  }

  void reorder(std::span<const std::int64_t> from) override {
    decoder_->reorder({from.begin(), from.end()});
  }

  at::Tensor logits() const override {
    return view(decoder_->logits(0), {rows_, config().audio_ids});
  }

  at::Tensor states() const override {
    std::vector<at::Tensor> last;
    for (std::int64_t row = 0; row < rows_; ++row) {
      const auto step = decoder_->steps(row);
      last.push_back(view(decoder_->latents(row) + (step - 1) * config().width, {config().width}));
    }
    return at::stack(last);
  }

 private:
  void wait_for_libtorch() const {
    c10::impl::VirtualGuardImpl(c10::kCUDA).getStream(device()).synchronize();
  }

  at::Tensor view(const float* data, std::vector<std::int64_t> shape) const {
    return at::from_blob(const_cast<float*>(data), shape, at::device(device()).dtype(at::kFloat));
  }

  void load(std::int64_t row, const DecodePrefix& prefix, const SamplingRule& rule) {
    const c10::AutoGradMode no_gradients(false);
    std::vector<std::pair<at::Tensor, at::Tensor>> read;
    const auto inputs = prefixes_.embed(prefix);
    const auto length = inputs.size(0);
    prefixes_.read(inputs, [&](std::int64_t, const at::Tensor& keys, const at::Tensor& values) {
      read.emplace_back(keys, values);
    });
    wait_for_libtorch();
    for (std::size_t layer = 0; layer < read.size(); ++layer) {
      decoder_->load_prefix(row, static_cast<std::int64_t>(layer),
                            read[layer].first.const_data_ptr<float>(),
                            read[layer].second.const_data_ptr<float>(), length);
    }
    decoder_->start(row, length, rule);  // waits: what was read may go
  }

  PrefixReader prefixes_;
  std::unique_ptr<CodeDecoder> decoder_;
  std::int64_t rows_ = 0;  // of begin()
  bool is_ahead_ = false;  // a run of steps is queued beside the one that is waited for
};

}  // namespace

std::unique_ptr<DecodeEngine> make_cuda_engine(const GptConfig& config, const NamedTensors& weights,
                                               const DecodeCapacity& capacity,
                                               CodeDecoderOptions options) {
  require_cuda();
  const c10::Device device(c10::kCUDA, static_cast<c10::DeviceIndex>(options.device));
  return std::make_unique<EngineCuda>(config, gpt_weights_on(weights, device), capacity, options);
}

}  // namespace myxtts
