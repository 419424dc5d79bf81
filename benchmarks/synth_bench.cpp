// SPDX-License-Identifier: Apache-2.0
// Speaks at a script's word and says how long it took; see compare_synth.py.
//
// usage: synth_bench LAYERS WIDTH HEADS CODES DECODER_CHANNELS THREADS
//
// Each line of input, "gpt N", "vocoder N" or "all N", is answered with milliseconds for N codes
// after a text of 60 tokens.
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <c10/core/GradMode.h>

#include "model/gpt.h"
#include "model/gpt_specs.h"
#include "model/named_tensors.h"
#include "model/network_specs.h"
#include "model/vocoder.h"
#include "synth/decode_engine.h"
#include "synth/windowed_vocoder.h"

namespace myxtts {
namespace {

constexpr std::int64_t kTextTokens = 60;

NamedTensors prefixed(const NamedTensors& tensors, const std::string& prefix) {
  NamedTensors result;
  for (const auto& [name, tensor] : tensors) result[prefix + name] = tensor;
  return result;
}

ModelConfig config_of(char** sizes) {
  ModelConfig config;
  config.gpt.layers = std::atoll(sizes[1]);
  config.gpt.width = config.decoder.input_dim = std::atoll(sizes[2]);
  config.gpt.heads = std::atoll(sizes[3]);
  const auto codes = std::atoll(sizes[4]);
  config.gpt.audio_ids = codes + 2;
  config.gpt.start_audio = codes;
  config.gpt.stop_audio = codes + 1;
  config.decoder.initial_channels = std::atoll(sizes[5]);
  return config;
}

class Speaker {
 public:
  explicit Speaker(const ModelConfig& config)
      : config_(config),
        decoder_(config.decoder,
                 prefixed(initialise(decoder_specs(config.decoder), 2), kDecoderPrefix)),
        vocoder_(decoder_, config.decoder),
        latents_(at::randn({config.gpt.perceiver_latents, config.gpt.width})),
        speaker_(at::randn({1, config.decoder.speaker_dim, 1})) {
    auto weights = prefixed(initialise(gpt_specs(config.gpt), 1), kGptPrefix);
    weights.at("gpt.mel_head.bias")[config.gpt.stop_audio] = -1e4;  // so that N codes come
    engine_ = make_decode_engine(config.gpt, weights, {}, c10::kCPU);
    states_ = at::randn({most_codes(config.gpt), config.gpt.width});
  }

  at::Tensor gpt(std::int64_t count) {
    const std::vector<std::int64_t> text(kTextTokens, 7);
    const std::vector<DecodePrefix> rows = {{latents_, text}};
    const CodeListener listener{.every = count, .hear = [](const RowSoFar&) { return false; }};
    return engine_->generate(rows, {.greedy = true}, listener).front().states;
  }

  void vocode(const at::Tensor& states) { vocoder_(states, speaker_); }

  void run(const std::string& what, std::int64_t count) {
    if (what == "gpt") {
      gpt(count);
    } else if (what == "vocoder") {
      vocode(states_.narrow(0, 0, count));
    } else {
      vocode(gpt(count));
    }
  }

 private:
  ModelConfig config_;
  Decoder decoder_;
  WindowedVocoder vocoder_;
  at::Tensor latents_;
  at::Tensor speaker_;
  std::unique_ptr<DecodeEngine> engine_;
  at::Tensor states_;
};

}  // namespace
}  // namespace myxtts

int main(int argument_count, char** arguments) {
  using Clock = std::chrono::steady_clock;
  if (argument_count != 7) {
    std::cerr << "usage: synth_bench LAYERS WIDTH HEADS CODES DECODER_CHANNELS THREADS\n";
    return 2;
  }
  const c10::AutoGradMode no_gradients(false);
  at::set_num_threads(std::atoi(arguments[6]));
  myxtts::Speaker speaker(myxtts::config_of(arguments));
  std::string what;
  for (std::int64_t count = 0; std::cin >> what >> count;) {
    const auto begin = Clock::now();
    speaker.run(what, count);
    std::cout << std::chrono::duration<double, std::milli>(Clock::now() - begin).count()
              << std::endl;
  }
}
