// SPDX-License-Identifier: Apache-2.0
//
// The attention kernels that LibTorch offers and our own, in CUDA graphs, on the shapes of a
// training step: which one is worth taking. Ours sums the gradient for a bias as well. One kernel a
// process, because a failed recording spoils what follows.
//
//   attention_bench ours|flash|padded|padded-flash|cudnn-views|cudnn-copies
#include <chrono>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <ATen/cuda/CUDAEvent.h>
#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDAGuard.h>
#include <fmt/format.h>
#include <torch/csrc/autograd/autograd.h>

#include "device/cuda_plugin.h"
#include "kernels/attention/attention.h"

namespace {

struct Shape {
  std::int64_t rows;
  std::int64_t length;  // on average
  bool causal;
  double dropout;
  bool spread = false;  // from half the length to one and a half

  std::int64_t length_of(std::int64_t row) const {
    return spread ? length / 2 + row * length / (rows - 1) : length;
  }
  std::int64_t longest() const { return length_of(rows - 1); }
};

constexpr std::int64_t kHeads = 16;
constexpr std::int64_t kWidth = 64;
constexpr int kReplays = 20;

const at::TensorOptions kOptions =
    at::TensorOptions(c10::Device(c10::kCUDA, 0)).dtype(at::kBFloat16);

using Attend = std::function<at::Tensor(const at::Tensor&)>;

std::vector<std::int32_t> ends_of(const Shape& shape) {
  std::vector<std::int32_t> ends = {0};
  for (std::int64_t row = 0; row < shape.rows; ++row) {
    ends.push_back(ends.back() + static_cast<std::int32_t>(shape.length_of(row)));
  }
  return ends;
}

// Records what `run` does and replays it.
double graph_ms(const std::function<void()>& run) {
  at::cuda::CUDAGraph graph;
  graph.capture_begin({0, 0}, cudaStreamCaptureModeRelaxed);
  run();
  graph.capture_end();
  graph.replay();
  at::cuda::CUDAEvent begin(cudaEventDefault);
  at::cuda::CUDAEvent end(cudaEventDefault);
  begin.record();
  for (int i = 0; i < kReplays; ++i) graph.replay();
  end.record();
  end.synchronize();
  return static_cast<double>(begin.elapsed_time(end)) / kReplays;
}

void measure(const std::string& name, const Shape& shape, std::int64_t tokens,
             const Attend& attend) {
  at::manual_seed(1);
  auto qkv = at::randn({tokens, 3, kHeads, kWidth}, kOptions);
  const auto slopes = at::randn({tokens, kHeads * kWidth}, kOptions);
  qkv.set_requires_grad(true);
  const auto run = [&] { torch::autograd::backward({attend(qkv)}, {slopes}); };
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < 3; ++i) run();
  at::cuda::getCurrentCUDAStream().synchronize();
  const std::chrono::duration<double, std::milli> eager = std::chrono::steady_clock::now() - start;
  qkv.mutable_grad().reset();
  const double forward = graph_ms([&] { attend(qkv); });
  const double both = graph_ms(run);
  fmt::print(
      "{:3} x {}{}{}{}: {:14} forward {:.3f} ms, backward {:.3f} ms, both {:.3f} ms, gradient "
      "{:.4f}, first three {:.0f} ms\n",
      shape.rows, shape.length, shape.spread ? " spread" : "", shape.causal ? " causal" : "",
      shape.dropout > 0 ? "" : " without dropout", name, forward, both - forward, both,
      qkv.grad().to(at::kFloat).norm().item<double>(), eager.count());
  std::fflush(stdout);
}

at::Tensor ours(const at::Tensor& qkv, const Shape& shape, const at::Tensor& ends) {
  static const auto bias = at::zeros({3 * kHeads * kWidth}, kOptions).requires_grad_(true);
  return myxtts::flash_attention({.rows = qkv.flatten(1), .deferred_bias = bias}, kHeads,
                                 {.ends = ends, .longest = shape.longest()}, shape.dropout);
}

at::Tensor padded(const at::Tensor& qkv, const Shape& shape) {
  const auto parts = qkv.view({shape.rows, shape.longest(), 3, kHeads, kWidth}).unbind(2);
  return at::scaled_dot_product_attention(parts[0].transpose(1, 2), parts[1].transpose(1, 2),
                                          parts[2].transpose(1, 2), {}, shape.dropout, shape.causal)
      .transpose(1, 2)
      .reshape({-1, kHeads * kWidth});
}

at::Tensor flash(const at::Tensor& qkv, const Shape& shape, const at::Tensor& ends) {
  const auto parts = qkv.unbind(1);
  return std::get<0>(at::_flash_attention_forward(parts[0], parts[1], parts[2], ends, ends,
                                                  shape.longest(), shape.longest(), shape.dropout,
                                                  shape.causal, false))
      .flatten(1);
}

at::Tensor cudnn(const at::Tensor& qkv, const Shape& shape, const at::Tensor& ends, bool copy) {
  auto parts = qkv.unbind(1);
  if (copy) {
    for (auto& part : parts) part = part.contiguous();
  }
  return std::get<0>(at::_cudnn_attention_forward(
                         parts[0], parts[1], parts[2], {}, ends, ends, shape.longest(),
                         shape.longest(), /*compute_log_sumexp=*/true, shape.dropout, shape.causal))
      .flatten(1);
}

void measure(const std::string& name, const Shape& shape) {
  const auto list = ends_of(shape);
  const auto ends = at::tensor(at::ArrayRef<std::int32_t>(list)).to(kOptions.device());
  const bool pads = name.starts_with("padded");
  at::globalContext().setSDPUseCuDNN(name != "padded-flash");
  measure(name, shape, pads ? shape.rows * shape.longest() : list.back(),
          [&](const at::Tensor& qkv) {
            if (name == "ours") return ours(qkv, shape, ends);
            return pads              ? padded(qkv, shape)
                   : name == "flash" ? flash(qkv, shape, ends)
                                     : cudnn(qkv, shape, ends, name == "cudnn-copies");
          });
}

}  // namespace

int main(int count, char** arguments) {
  const std::string name = count > 1 ? arguments[1] : "ours";
  myxtts::require_cuda();
  const auto stream = c10::cuda::getStreamFromPool(/*isHighPriority=*/true);
  const c10::cuda::CUDAStreamGuard guard(stream);
  for (const std::int64_t rows : {3, 16, 32, 64}) {
    measure(name, {.rows = rows, .length = 372, .causal = true, .dropout = 0.1});
  }
  measure(name, {.rows = 32, .length = 372, .causal = true, .dropout = 0.0});
  measure(name, {.rows = 32, .length = 372, .causal = true, .dropout = 0.1, .spread = true});
  measure(name, {.rows = 32, .length = 372, .causal = true, .dropout = 0.0, .spread = true});
  measure(name, {.rows = 24, .length = 700, .causal = true, .dropout = 0.1, .spread = true});
  if (name == "ours") return 0;  // causal only
  for (const std::int64_t rows : {3, 32}) {
    measure(name, {.rows = rows, .length = 517, .causal = false, .dropout = 0.0});
  }
  return 0;
}
