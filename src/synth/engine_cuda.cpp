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
#include "synth/prefix_reader.h"

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

  void begin(std::span<const DecodePrefix> rows) override {
    const SamplingRule by_caller{.by_caller = true};
    load(rows, [&](std::size_t) { return by_caller; });
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

  std::vector<GeneratedRow> generate(std::span<const DecodePrefix> prefixes,
                                     const SamplingSettings& settings,
                                     const CodeListener& listener) override {
    MYXTTS_CHECK(settings.beams == 1, "rows were asked for {} beams each", settings.beams);
    load(prefixes, [&](std::size_t row) { return rule_of(settings, prefixes[row].number); });
    std::vector<std::int64_t> heard(prefixes.size(), 0);
    bool goes_on = true;
    decoder_->advance(kRun);
    while (goes_on) {
      decoder_->advance(kRun);
      decoder_->wait(kRun);
      goes_on = report(listener, heard);
    }
    decoder_->wait();
    std::vector<GeneratedRow> result;
    for (std::int64_t row = 0; row < rows_; ++row) result.push_back(result_of(row));
    return result;
  }

 private:
  void wait_for_libtorch() const {
    c10::impl::VirtualGuardImpl(c10::kCUDA).getStream(device()).synchronize();
  }

  at::Tensor view(const float* data, std::vector<std::int64_t> shape) const {
    return at::from_blob(const_cast<float*>(data), shape, at::device(device()).dtype(at::kFloat));
  }

  template <typename RuleOf>
  void load(std::span<const DecodePrefix> rows, const RuleOf& rule_of_row) {
    const c10::AutoGradMode no_gradients(false);
    MYXTTS_CHECK(!rows.empty() && rows.size() <= as_index(capacity().rows),
                 "{} rows for an engine of {}", rows.size(), capacity().rows);
    rows_ = static_cast<std::int64_t>(rows.size());
    for (std::int64_t row = 0; row < capacity().rows; ++row) decoder_->stop(row);
    for (std::size_t row = 0; row < rows.size(); ++row) {
      const auto number = static_cast<std::int64_t>(row);
      std::vector<std::pair<at::Tensor, at::Tensor>> read;
      const auto inputs = prefixes_.embed(rows[row]);
      const auto length = inputs.size(0);
      prefixes_.read(inputs, [&](std::int64_t, const at::Tensor& keys, const at::Tensor& values) {
        read.emplace_back(keys, values);
      });
      wait_for_libtorch();
      for (std::size_t layer = 0; layer < read.size(); ++layer) {
        decoder_->load_prefix(number, static_cast<std::int64_t>(layer),
                              read[layer].first.const_data_ptr<float>(),
                              read[layer].second.const_data_ptr<float>(), length);
      }
      decoder_->start(number, length, rule_of_row(row));  // waits: what was read may go
    }
  }

  // Reports new codes to the listener; true while a row goes on and the listener does not stop it.
  bool report(const CodeListener& listener, std::vector<std::int64_t>& heard) {
    bool goes_on = false;
    for (std::int64_t row = 0; row < rows_; ++row) {
      const RowProgress now = decoder_->progress(row);
      goes_on = goes_on || !now.finished;
      if (!listener.hear || !report_row(listener, row, now, heard[as_index(row)])) continue;
      for (std::int64_t other = 0; other < rows_; ++other) decoder_->stop(other);
      return false;
    }
    return goes_on;
  }

  // True when the listener wants no more.
  bool report_row(const CodeListener& listener, std::int64_t row, const RowProgress& now,
                  std::int64_t& heard) const {
    while (heard < now.codes) {
      const std::int64_t due =
          listener.every > 0 ? (heard / listener.every + 1) * listener.every : now.codes + 1;
      const bool ends = due >= now.codes && now.finished;
      if (due > now.codes && !ends) return false;
      heard = ends ? now.codes : due;
      const std::vector<std::int64_t> codes(decoder_->codes(row), decoder_->codes(row) + heard);
      if (!listener.hear({as_index(row), codes, states_of(row, heard), ends})) return true;
    }
    return false;
  }

  at::Tensor states_of(std::int64_t row, std::int64_t count) const {
    return view(decoder_->latents(row), {count, config().width}).clone();
  }

  GeneratedRow result_of(std::int64_t row) const {
    const auto count = decoder_->progress(row).codes;
    const auto* codes = decoder_->codes(row);
    return {.codes = {codes, codes + count},
            .states = states_of(row, count),
            .stopped = count > 0 && codes[count - 1] == config().stop_audio};
  }

  PrefixReader prefixes_;
  std::unique_ptr<CodeDecoder> decoder_;
  std::int64_t rows_ = 0;
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
