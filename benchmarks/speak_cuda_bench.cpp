// SPDX-License-Identifier: Apache-2.0
//
// The whole chain on the GPU, of a public-size model of random numbers: reading the prefix, writing
// codes, sound. Prints milliseconds of each and how many times faster than the sound they are.
//
//   speak_cuda_bench [CODES [ROWS]]
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>
#include <fmt/format.h>

#include "device/cuda_plugin.h"
#include "model/gpt.h"
#include "model/gpt_specs.h"
#include "model/named_tensors.h"
#include "model/network_specs.h"
#include "model/vocoder.h"
#include "synth/decode_engine.h"
#include "synth/windowed_vocoder.h"

namespace myxtts {
namespace {

const c10::Device kGpu{c10::kCUDA, 0};
constexpr std::int64_t kTextTokens = 116;  // with the latents, START and STOP a prefix of 150

NamedTensors named(const TensorSpecs& specs, std::uint64_t seed, const std::string& prefix) {
  NamedTensors result;
  for (const auto& [name, tensor] : initialise(specs, seed, kGpu)) result[prefix + name] = tensor;
  return result;
}

double now_ms() {
  const auto since = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double, std::milli>(since).count();
}

void speak(std::int64_t codes, std::int64_t rows) {
  const ModelConfig config = model_preset("xtts-v2");
  auto weights = named(gpt_specs(config.gpt), 1, kGptPrefix);
  weights.at("gpt.mel_head.bias")[config.gpt.stop_audio] = -1e4;  // so that all codes come
  const auto engine = make_decode_engine(config.gpt, weights, {.rows = rows, .codes = codes}, kGpu);
  const Decoder decoder(config.decoder, named(decoder_specs(config.decoder), 2, kDecoderPrefix));
  const WindowedVocoder vocoder(decoder, config.decoder);
  const auto latents = at::randn({config.gpt.perceiver_latents, config.gpt.width});
  const auto speaker = at::randn({1, config.decoder.speaker_dim, 1}, at::device(kGpu));
  const std::vector<std::int64_t> text(kTextTokens, 7);
  std::vector<DecodePrefix> prefixes;
  for (std::int64_t row = 0; row < rows; ++row) {
    prefixes.push_back({latents, text, static_cast<std::uint32_t>(row)});
  }
  for (int round = 0; round < 4; ++round) {
    const double begin = now_ms();
    engine->begin(prefixes);  // reads the prefixes, and one step
    const double read = now_ms();
    const auto generated = engine->generate(prefixes, {}, {});
    const double written = now_ms();
    std::int64_t samples = 0;
    for (const auto& row : generated) {
      const auto sound = vocoder(row.states, speaker).to(at::kCPU);
      samples += sound.numel();
    }
    const double end = now_ms();
    const double seconds = static_cast<double>(samples) / 24000.0;
    fmt::print(
        "{} rows of {} codes: prefix {:.1f} ms, prefix and codes {:.1f} ms, sound {:.1f} ms; "
        "{:.1f} s of sound, real-time factor {:.5f}\n",
        rows, generated[0].codes.size(), read - begin, written - read, end - written, seconds,
        (end - read) / 1000.0 / seconds);
  }
}

}  // namespace
}  // namespace myxtts

int main(int argc, char** argv) {
  const c10::AutoGradMode no_gradients(false);
  myxtts::require_cuda();
  myxtts::speak(argc > 1 ? std::stoll(argv[1]) : 400, argc > 2 ? std::stoll(argv[2]) : 1);
  return 0;
}
