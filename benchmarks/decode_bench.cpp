// SPDX-License-Identifier: Apache-2.0
//
// Codes a second on the GPU, of a network of random numbers.
//
//   decode_bench                                  the public size by every method, 1 to 16 rows
//   decode_bench METHOD ROWS LAYERS PREFIX CODES  one line; METHOD: fused, steps or fp32
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <fmt/format.h>

#include "../tests/kernels/random_network.h"
#include "device/cuda_plugin.h"

namespace myxtts {
namespace {

const c10::Device kGpu{c10::kCUDA, 0};

struct Case {
  std::string method;
  std::int64_t rows = 1;
  std::int64_t layers = 30;
  std::int64_t prefix = 150;
  std::int64_t codes = 400;
};

CodeDecoderOptions options_of(const Case& what, const CodeDecoderShape& shape) {
  return {.shape = shape,
          .precision = what.method == "fp32" ? DecodePrecision::Fp32 : DecodePrecision::Bf16,
          .method = what.method == "fused" ? DecodeMethod::Fused : DecodeMethod::Steps};
}

void run(const test::RandomNetwork& network, const Case& what) {
  CodeDecoderShape shape = network.shape();
  shape.layers = what.layers;
  shape.rows = what.rows;
  shape.stop = -1;  // never chosen: every row makes all its codes
  auto weights = network.view();
  weights.layers.resize(static_cast<std::size_t>(what.layers));
  const auto decoder = make_cuda_code_decoder(options_of(what, shape), weights);
  std::vector<double> ms;
  for (int round = 0; round < 4; ++round) {
    for (std::int64_t row = 0; row < what.rows; ++row) {
      decoder->start(row, what.prefix, {.seed = static_cast<std::uint64_t>(row)});
    }
    const auto begin = std::chrono::steady_clock::now();
    decoder->advance(what.codes);
    decoder->wait();
    const auto end = std::chrono::steady_clock::now();
    ms.push_back(std::chrono::duration<double, std::milli>(end - begin).count());
  }
  std::sort(ms.begin() + 1, ms.end());  // the first warms up
  const double step_us = ms[2] * 1000 / static_cast<double>(what.codes);
  fmt::print(
      "{:6} rows {:2} layers {:2} prefix {:3} codes {:3}: {:7.1f} us/step {:8.0f} codes/s"
      " (spread {:.1f}%)\n",
      what.method, what.rows, what.layers, what.prefix, what.codes, step_us,
      1e6 / step_us * static_cast<double>(what.rows), 100 * (ms[3] - ms[1]) / ms[2]);
  std::fflush(stdout);
}

}  // namespace
}  // namespace myxtts

int main(int argc, char** argv) {
  using myxtts::Case;
  if (argc != 1 && argc != 6) {
    fmt::print(stderr, "decode_bench [METHOD ROWS LAYERS PREFIX CODES]\n");
    return 2;
  }
  myxtts::require_cuda();
  std::vector<Case> cases;
  if (argc == 6) {
    cases = {{argv[1], std::stoll(argv[2]), std::stoll(argv[3]), std::stoll(argv[4]),
              std::stoll(argv[5])}};
  } else {
    cases = {{"fused", 1},
             {"fused", 1, 15},
             {"fused", 1, 1},
             {"fused", 1, 30, 4, 20},
             {"fused", 1, 30, 430, 602},
             {"fused", 2},
             {"fused", 4},
             {"fused", 8},
             {"fused", 16},
             {"fused", 16, 15},
             {"steps", 1},
             {"steps", 4},
             {"steps", 16},
             {"fp32", 1}};
  }
  const myxtts::test::RandomNetwork network({}, 1);
  const auto on_gpu = network.on(myxtts::kGpu);
  for (const Case& one : cases) myxtts::run(on_gpu, one);
  return 0;
}
