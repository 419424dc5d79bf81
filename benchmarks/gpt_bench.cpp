// SPDX-License-Identifier: Apache-2.0
//
// One forward and backward pass of the GPT for each line on standard input, its milliseconds on
// standard output: compare_gpt.py lets it take turns with the Python peer.
//
//   gpt_bench LAYERS WIDTH HEADS CODES THREADS TEXT:CODES...
#include <chrono>
#include <cstdint>
#include <iostream>
#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <fmt/format.h>

#include "model/gpt.h"
#include "model/gpt_batch.h"
#include "model/gpt_specs.h"
#include "model/named_tensors.h"

namespace myxtts {
namespace {

constexpr std::int64_t kFrames = 517;  // of a prompt of six seconds

GptConfig parse_config(const std::vector<std::string>& arguments) {
  GptConfig config;
  config.layers = std::stoll(arguments[0]);
  config.width = std::stoll(arguments[1]);
  config.heads = std::stoll(arguments[2]);
  config.start_audio = std::stoll(arguments[3]);
  config.stop_audio = config.start_audio + 1;
  config.audio_ids = config.start_audio + 2;
  return config;
}

GptBatch make_batch(const GptConfig& config, const std::vector<std::string>& lengths) {
  std::vector<std::vector<std::int64_t>> ids;
  for (const auto& pair : lengths) {
    const auto colon = pair.find(':');
    ids.emplace_back(std::stoull(pair.substr(0, colon)), 7);
    ids.emplace_back(std::stoull(pair.substr(colon + 1)), 5);
  }
  std::vector<GptClip> clips;
  for (std::size_t i = 0; i < ids.size(); i += 2) {
    clips.push_back({.text = ids[i], .codes = ids[i + 1]});
  }
  return to_batch(pack_rows(config, clips), c10::kCPU);
}

void serve(const GptConfig& config, const GptBatch& batch) {
  NamedTensors weights;
  for (const auto& [name, weight] : initialise(gpt_specs(config), 1)) {
    weights.emplace(kGptPrefix + name, weight.requires_grad_(true));
  }
  const Gpt gpt(config, weights);
  const auto mel = at::randn({batch.clips, config.mel_bands, kFrames});
  for (std::string line; std::getline(std::cin, line);) {
    for (auto& [name, weight] : weights) weight.mutable_grad().reset();
    const auto begin = std::chrono::steady_clock::now();
    const auto states = gpt.states(batch, gpt.conditioning(mel));
    gpt_losses(batch, gpt.logits(batch, states)).total.backward();
    const std::chrono::duration<double, std::milli> taken =
        std::chrono::steady_clock::now() - begin;
    fmt::print("{}\n", taken.count());
    std::fflush(stdout);
  }
}

}  // namespace
}  // namespace myxtts

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments.size() < 6) {
    fmt::print(stderr, "gpt_bench LAYERS WIDTH HEADS CODES THREADS TEXT:CODES...\n");
    return 2;
  }
  at::set_num_threads(std::stoi(arguments[4]));
  const auto config = myxtts::parse_config(arguments);
  myxtts::serve(config, myxtts::make_batch(config, {arguments.begin() + 5, arguments.end()}));
  return 0;
}
