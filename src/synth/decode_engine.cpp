// SPDX-License-Identifier: Apache-2.0
#include "synth/decode_engine.h"

#include <ATen/ATen.h>

#include "base/error.h"
#include "synth/beam_search.h"
#include "synth/sampling.h"

namespace myxtts {
namespace {

// A row whose codes are being chosen.
class GrowingRow {
 public:
  GrowingRow(const DecodeEngine& engine, std::size_t index, const DecodePrefix& prefix)
      : config_(engine.config()),
        index_(index),
        number_(prefix.number),
        most_(engine.capacity().codes),
        history_(engine.config()),
        states_(at::empty({most_, config_.width}, at::device(engine.device()).dtype(at::kFloat))) {}

  // Chooses the next code and keeps the state that predicted it.
  void take(std::span<float> logits, const at::Tensor& state, const SamplingSettings& settings) {
    const auto step = static_cast<std::uint32_t>(codes_.size());
    const double draw = settings.greedy ? 0.0 : sampling_draw(settings.seed, number_, step);
    states_[static_cast<std::int64_t>(step)].copy_(state);
    codes_.push_back(choose_code(logits, history_, settings, draw));
    history_.add(codes_.back());
    stopped_ = codes_.back() == config_.stop_audio;
    ended_ = stopped_ || count() == most_;
  }

  std::int64_t next_input() const { return ended_ ? DecodeEngine::kEnded : codes_.back(); }
  bool ended() const { return ended_; }
  std::int64_t count() const { return static_cast<std::int64_t>(codes_.size()); }

  bool report(const CodeListener& listener) const {
    const bool due = ended_ || (listener.every > 0 && count() % listener.every == 0);
    if (!listener.hear || !due) return true;
    return listener.hear({index_, codes_, states_.narrow(0, 0, count()), ended_});
  }

  GeneratedRow finish() && {
    auto states = states_.narrow(0, 0, count()).clone();
    return {std::move(codes_), std::move(states), stopped_};
  }

 private:
  const GptConfig& config_;
  std::size_t index_;
  std::uint32_t number_;
  std::int64_t most_;
  CodeHistory history_;
  std::vector<std::int64_t> codes_;
  at::Tensor states_;  // [most codes, D]
  bool stopped_ = false;
  bool ended_ = false;
};

// True while a row goes on and the listener does not stop it.
bool take_codes(const DecodeEngine& engine, std::vector<GrowingRow>& rows,
                const SamplingSettings& settings, const CodeListener& listener) {
  auto logits = engine.logits().to(at::kCPU, at::kFloat, /*non_blocking=*/false, /*copy=*/true);
  const auto states = engine.states();
  const auto ids = static_cast<std::size_t>(logits.size(1));
  bool goes_on = false;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].ended()) continue;
    rows[i].take(values_of(logits).subspan(i * ids, ids), states[static_cast<std::int64_t>(i)],
                 settings);
    if (!rows[i].report(listener)) return false;
    goes_on = goes_on || !rows[i].ended();
  }
  return goes_on;
}

}  // namespace

DecodeEngine::DecodeEngine(const GptConfig& config, const DecodeCapacity& capacity,
                           c10::Device device)
    : config_(config),
      capacity_{capacity.rows, capacity.codes > 0 ? capacity.codes : most_codes(config)},
      device_(device) {}

std::vector<GeneratedRow> DecodeEngine::generate(std::span<const DecodePrefix> prefixes,
                                                 const SamplingSettings& settings,
                                                 const CodeListener& listener) {
  MYXTTS_CHECK(settings.beams == 1, "rows were asked for {} beams each", settings.beams);
  std::vector<GrowingRow> rows;
  for (std::size_t i = 0; i < prefixes.size(); ++i) rows.emplace_back(*this, i, prefixes[i]);
  begin(prefixes);
  std::vector<std::int64_t> inputs(rows.size());
  while (take_codes(*this, rows, settings, listener)) {
    for (std::size_t i = 0; i < rows.size(); ++i) inputs[i] = rows[i].next_input();
    step(inputs);
  }
  std::vector<GeneratedRow> result;
  for (auto& row : rows) result.push_back(std::move(row).finish());
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

}  // namespace myxtts
