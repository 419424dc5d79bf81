// SPDX-License-Identifier: Apache-2.0
//
// The attention kernels that LibTorch offers, forward and backward in one CUDA graph, on the shapes
// of a training step: which one is worth taking. cuDNN's on packed rows is missing: through
// LibTorch it failed while a graph was recorded, it seems because its plan is made anew at each
// call; that cause is inferred, not isolated.
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

namespace {

struct Shape {
  std::int64_t rows;
  std::int64_t length;
  bool causal;
  double dropout;
};

constexpr std::int64_t kHeads = 16;
constexpr std::int64_t kWidth = 64;
constexpr int kReplays = 20;

const at::TensorOptions kOptions =
    at::TensorOptions(c10::Device(c10::kCUDA, 0)).dtype(at::kBFloat16);

void measure(const std::string& name, const Shape& shape,
             const std::function<at::Tensor(const at::Tensor&)>& attend) try {
  auto qkv = at::randn({shape.rows * shape.length, 3, kHeads, kWidth}, kOptions);
  qkv.set_requires_grad(true);
  const auto run = [&] {
    const auto mixed = attend(qkv);
    torch::autograd::backward({mixed}, {at::ones_like(mixed)});
  };
  for (int i = 0; i < 3; ++i) run();
  qkv.mutable_grad().reset();
  at::cuda::CUDAGraph graph;
  graph.capture_begin();
  run();
  graph.capture_end();
  graph.replay();
  at::cuda::CUDAEvent begin(cudaEventDefault);
  at::cuda::CUDAEvent end(cudaEventDefault);
  begin.record();
  for (int i = 0; i < kReplays; ++i) graph.replay();
  end.record();
  end.synchronize();
  fmt::print("{:3} x {}{}: {:26} {:.3f} ms, gradient {:.4f}\n", shape.rows, shape.length,
             shape.causal ? " causal" : "", name, begin.elapsed_time(end) / kReplays,
             qkv.grad().to(at::kFloat).norm().item<double>());
  std::fflush(stdout);
} catch (const std::exception& error) {
  fmt::print("{:3} x {}: {:26} {}\n", shape.rows, shape.length, name,
             std::string(error.what()).substr(0, 300));
  std::fflush(stdout);
}

at::Tensor padded(const at::Tensor& qkv, const Shape& shape) {
  const auto parts = qkv.view({shape.rows, shape.length, 3, kHeads, kWidth}).unbind(2);
  return at::scaled_dot_product_attention(parts[0].transpose(1, 2), parts[1].transpose(1, 2),
                                          parts[2].transpose(1, 2), {}, shape.dropout, shape.causal)
      .transpose(1, 2)
      .reshape({-1, kHeads * kWidth});
}

void measure_all(const Shape& shape) {
  std::vector<std::int32_t> ends;
  for (std::int64_t i = 0; i <= shape.rows; ++i) {
    ends.push_back(static_cast<std::int32_t>(i * shape.length));
  }
  const auto segment_ends = at::tensor(at::ArrayRef<std::int32_t>(ends)).to(kOptions.device());
  const auto flash = [&](const at::Tensor& qkv) {
    const auto parts = qkv.unbind(1);
    return std::get<0>(at::_flash_attention_forward(parts[0], parts[1], parts[2], segment_ends,
                                                    segment_ends, shape.length, shape.length,
                                                    shape.dropout, shape.causal, false))
        .flatten(1);
  };
  auto& context = at::globalContext();
  measure("flash packed", shape, flash);
  measure("sdpa padded", shape, [&](const at::Tensor& qkv) { return padded(qkv, shape); });
  context.setSDPUseCuDNN(false);
  measure("sdpa padded, not cudnn", shape,
          [&](const at::Tensor& qkv) { return padded(qkv, shape); });
  context.setSDPUseCuDNN(true);
}

}  // namespace

int main() {
  const auto stream = c10::cuda::getStreamFromPool(/*isHighPriority=*/true);
  const c10::cuda::CUDAStreamGuard guard(stream);
  for (const std::int64_t rows : {3, 16, 32, 64}) {
    measure_all({.rows = rows, .length = 372, .causal = true, .dropout = 0.1});
  }
  measure_all({.rows = 32, .length = 372, .causal = true, .dropout = 0.0});
  for (const std::int64_t rows : {3, 32}) {
    measure_all({.rows = rows, .length = 517, .causal = false, .dropout = 0.0});
  }
  return 0;
}
