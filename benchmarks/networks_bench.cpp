// SPDX-License-Identifier: Apache-2.0
//
// One forward pass of the decoder or the speaker encoder in the public shape for each line on
// standard input, its milliseconds on standard output: compare_networks.py lets it take turns with
// the Python peer.
//
//   networks_bench decoder|speaker_encoder SIZE THREADS     SIZE: codes, or samples at 16,000 Hz
#include <chrono>
#include <functional>
#include <iostream>
#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <fmt/format.h>

#include "model/named_tensors.h"
#include "model/network_specs.h"
#include "model/speaker_encoder.h"
#include "model/vocoder.h"

namespace myxtts {
namespace {

std::function<void()> decoder_pass(std::int64_t codes) {
  const Decoder decoder({}, initialise(decoder_specs({}), 1), "");
  return [decoder, latents = at::randn({1, codes, 1024}), speaker = at::randn({1, 512, 1})] {
    decoder(latents, speaker);
  };
}

std::function<void()> speaker_encoder_pass(std::int64_t samples) {
  auto tensors = initialise(speaker_encoder_specs({}), 1);
  tensors.merge(speaker_encoder_tables({}));
  const SpeakerEncoder encoder({}, tensors, "");
  return [encoder, clip = at::randn({1, samples})] { encoder(clip); };
}

void serve(const std::function<void()>& pass) {
  for (std::string line; std::getline(std::cin, line);) {
    const auto begin = std::chrono::steady_clock::now();
    pass();
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
  if (arguments.size() != 3) {
    fmt::print(stderr, "networks_bench decoder|speaker_encoder SIZE THREADS\n");
    return 2;
  }
  at::set_num_threads(std::stoi(arguments[2]));
  const auto size = std::stoll(arguments[1]);
  myxtts::serve(arguments[0] == "decoder" ? myxtts::decoder_pass(size)
                                          : myxtts::speaker_encoder_pass(size));
  return 0;
}
