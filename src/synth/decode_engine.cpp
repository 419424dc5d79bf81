// SPDX-License-Identifier: Apache-2.0
#include "synth/decode_engine.h"

#include <ATen/ATen.h>

#include "base/error.h"
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

}  // namespace myxtts
