// SPDX-License-Identifier: Apache-2.0
#include "synth/decode_engine.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>
#include <utility>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <c10/core/GradMode.h>

#include "base/error.h"
#include "model/gpt.h"
#include "synth/cpu/cpu_gpt.h"
#include "synth/sampling.h"

namespace myxtts {
namespace {

// With fewer weights to read for each code, threads would mostly wait for each other.
constexpr std::int64_t kWeightsOfAThread = 2'000'000;

std::size_t useful_threads(const GptConfig& config) {
  const auto weights = config.layers * 12 * config.width * config.width;
  const auto worthwhile = 1 + weights / kWeightsOfAThread;
  return as_index(std::min<std::int64_t>(at::get_num_threads(), worthwhile));
}

// A row whose codes are being chosen.
class GrowingRow {
 public:
  GrowingRow(const GptConfig& config, std::int64_t most_codes, std::uint32_t number,
             const SamplingSettings& settings)
      : stop_code_(config.stop_audio),
        number_(number),
        settings_(settings),
        history_(config),
        states_(at::empty({most_codes, config.width}, at::kFloat)) {}

  // Chooses the next code and keeps the state that predicted it.
  void take(std::span<float> logits, const at::Tensor& state) {
    const auto step = static_cast<std::uint32_t>(codes_.size());
    const double draw = settings_.greedy ? 0.0 : sampling_draw(settings_.seed, number_, step);
    states_[static_cast<std::int64_t>(step)].copy_(state);
    codes_.push_back(choose_code(logits, history_, settings_, draw));
    history_.add(codes_.back());
    ended_ = stopped() || count() == states_.size(0);
  }

  void end() { ended_ = true; }
  bool ended() const { return ended_; }
  std::int64_t next_input() const {
    return ended_ || codes_.empty() ? DecodeEngine::kEnded : codes_.back();
  }
  std::int64_t count() const { return static_cast<std::int64_t>(codes_.size()); }
  GeneratedRow so_far() const { return {codes_, states_.narrow(0, 0, count()), stopped()}; }

 private:
  bool stopped() const { return !codes_.empty() && codes_.back() == stop_code_; }

  std::int64_t stop_code_;
  std::uint32_t number_;
  SamplingSettings settings_;
  CodeHistory history_;
  std::vector<std::int64_t> codes_;
  at::Tensor states_;  // [most codes, D]
  bool ended_ = false;
};

class EngineCpu final : public DecodeEngine {
 public:
  EngineCpu(const GptConfig& config, const NamedTensors& weights, const DecodeCapacity& capacity);

  void start(std::size_t row, const DecodePrefix& prefix,
             const SamplingSettings& settings) override;
  void advance() override;
  RowProgress progress(std::size_t row) const override;
  GeneratedRow row(std::size_t row) const override;
  void stop(std::size_t row) override;

  void begin(std::span<const DecodePrefix> rows) override;
  void step(std::span<const std::int64_t> codes) override;
  void reorder(std::span<const std::int64_t> from) override;
  at::Tensor logits() const override { return logits_.narrow(0, 0, rows_); }
  at::Tensor states() const override { return states_.narrow(0, 0, rows_); }

 private:
  std::size_t most_positions() const;
  void read_prefix(std::size_t row, const DecodePrefix& prefix);
  void copy_outputs(std::size_t from, std::size_t row);

  at::Tensor audio_embedding_;  // [audio ids, D]
  at::Tensor audio_positions_;  // [positions, D]
  PrefixReader prefixes_;
  CpuGpt layers_;
  at::Tensor inputs_;  // [rows, D]
  at::Tensor logits_;  // [rows, audio ids]
  at::Tensor states_;  // [rows, D]

  std::int64_t rows_ = 0;  // of begin()

  // Of each row.
  std::vector<std::optional<GrowingRow>> growing_;
  std::vector<std::size_t> slots_;           // its place in the cache
  std::vector<std::size_t> lengths_;         // positions that are filled there
  std::vector<std::size_t> prefix_lengths_;  // those before the start code
};

EngineCpu::EngineCpu(const GptConfig& config, const NamedTensors& weights,
                     const DecodeCapacity& capacity)
    : DecodeEngine(config, capacity, c10::kCPU),
      audio_embedding_(weights.at("gpt.mel_embedding.weight")),
      audio_positions_(weights.at("gpt.mel_pos_embedding.emb.weight")),
      prefixes_(config, weights),
      layers_(
          config,
          [&](const std::string& name) {
            return weights.at(kGptPrefix + name).const_data_ptr<float>();
          },
          as_index(capacity.rows), most_positions(), useful_threads(config)),
      inputs_(at::empty({capacity.rows, config.width}, at::kFloat)),
      logits_(at::empty({capacity.rows, config.audio_ids}, at::kFloat)),
      states_(at::empty({capacity.rows, config.width}, at::kFloat)),
      growing_(as_index(capacity.rows)),
      slots_(as_index(capacity.rows)),
      lengths_(as_index(capacity.rows)),
      prefix_lengths_(as_index(capacity.rows)) {
  std::iota(slots_.begin(), slots_.end(), std::size_t{0});
}

std::size_t EngineCpu::most_positions() const {
  const auto prefix = config().perceiver_latents + most_text_tokens(config()) + 3;
  return as_index(prefix + capacity().codes);
}

void EngineCpu::start(std::size_t row, const DecodePrefix& prefix,
                      const SamplingSettings& settings) {
  auto& growing = growing_.at(row);
  growing.reset();
  read_prefix(row, prefix);
  growing.emplace(config(), capacity().codes, prefix.number, settings);
}

// A row that has just started brings its first logits with it; the others are fed their last code.
void EngineCpu::advance() {
  std::vector<std::int64_t> codes;
  for (const auto& row : growing_) codes.push_back(row ? row->next_input() : kEnded);
  step(codes);
  const auto ids = as_index(config().audio_ids);
  for (std::size_t row = 0; row < growing_.size(); ++row) {
    if (!growing_[row] || growing_[row]->ended()) continue;
    growing_[row]->take({logits_.mutable_data_ptr<float>() + row * ids, ids},
                        states_[static_cast<std::int64_t>(row)]);
  }
}

RowProgress EngineCpu::progress(std::size_t row) const {
  const auto& growing = growing_.at(row);
  if (!growing) return {};
  return {.codes = static_cast<std::int32_t>(growing->count()), .finished = growing->ended()};
}

GeneratedRow EngineCpu::row(std::size_t row) const {
  return growing_.at(row).value().so_far();
}

void EngineCpu::stop(std::size_t row) {
  if (auto& growing = growing_.at(row)) growing->end();
}

void EngineCpu::begin(std::span<const DecodePrefix> rows) {
  MYXTTS_CHECK(!rows.empty() && rows.size() <= as_index(capacity().rows),
               "{} rows for an engine of {}", rows.size(), capacity().rows);
  for (auto& row : growing_) row.reset();
  rows_ = static_cast<std::int64_t>(rows.size());
  for (std::size_t row = 0; row < rows.size(); ++row) read_prefix(row, rows[row]);
}

// The start code is read with the prefix: its output is what the first code is chosen from.
void EngineCpu::read_prefix(std::size_t row, const DecodePrefix& prefix) {
  const c10::AutoGradMode no_gradients(false);
  const auto start = audio_embedding_[config().start_audio] + audio_positions_[0];
  const auto inputs = at::cat({prefixes_.embed(prefix), start.unsqueeze(0)});
  const auto count = as_index(inputs.size(0));
  const auto outputs = prefixes_.read(
      inputs, [&](std::int64_t layer, const at::Tensor& keys, const at::Tensor& values) {
        layers_.write_prefix(slots_[row], as_index(layer), keys.const_data_ptr<float>(),
                             values.const_data_ptr<float>(), count);
      });
  const auto last = outputs[-1].contiguous();
  const std::array<const float*, 1> hidden = {last.const_data_ptr<float>()};
  layers_.finish(hidden);
  copy_outputs(0, row);
  lengths_[row] = count;
  prefix_lengths_[row] = count - 1;  // the start code stands at the first position of codes
}

void EngineCpu::step(std::span<const std::int64_t> codes) {
  const c10::AutoGradMode no_gradients(false);
  MYXTTS_CHECK(codes.size() <= lengths_.size(), "{} codes for {} rows", codes.size(),
               lengths_.size());
  const float* embeddings = audio_embedding_.const_data_ptr<float>();
  const float* positions = audio_positions_.const_data_ptr<float>();
  std::vector<CpuGpt::Input> inputs;
  std::vector<std::size_t> input_rows;
  for (std::size_t row = 0; row < codes.size(); ++row) {
    if (codes[row] == kEnded) continue;
    const std::size_t width = as_index(config().width);
    float* input = inputs_.mutable_data_ptr<float>() + row * width;
    const float* embedding = embeddings + as_index(codes[row]) * width;
    const float* position = positions + (lengths_[row] - prefix_lengths_[row]) * width;
    for (std::size_t i = 0; i < width; ++i) input[i] = embedding[i] + position[i];
    inputs.push_back({slots_[row], lengths_[row]++, input});
    input_rows.push_back(row);
  }
  if (inputs.empty()) return;
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
  MYXTTS_CHECK(from.size() == as_index(rows_), "{} places for {} rows", from.size(), rows_);
  std::vector<bool> keeps_place(from.size(), false);
  std::vector<std::size_t> free;
  for (const auto source : from) keeps_place.at(as_index(source)) = true;
  for (std::size_t row = 0; row < from.size(); ++row) {
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
                                              const DecodeCapacity& capacity) {
  return std::make_unique<EngineCpu>(config, gpt_weights_on(weights, c10::kCPU), capacity);
}

}  // namespace myxtts
