// SPDX-License-Identifier: Apache-2.0
//
// Forward and backward of the GPT in bf16 as one CUDA graph, on random weights and packed rows of
// clips of ten seconds: the median by events, and the kernels that take more than 0.2 % of it.
//
// "BATCH/without" measures that batch also with the plain expression in place of each kernel.
//
//   step_bench BATCH[/without]...
#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <ATen/cuda/CUDAEvent.h>
#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAGuard.h>
#include <fmt/format.h>
#include <torch/csrc/autograd/profiler_kineto.h>

#include "device/cuda_plugin.h"
#include "kernels/cuda_kernels.h"
#include "kernels/ops/op_tensors.h"
#include "model/gpt.h"
#include "model/gpt_batch.h"
#include "model/gpt_specs.h"
#include "model/named_tensors.h"

namespace myxtts {
namespace {

constexpr std::int64_t kTextTokens = 120;
constexpr std::int64_t kCodes = 215;   // of ten seconds
constexpr std::int64_t kFrames = 517;  // of a prompt of six seconds
constexpr int kWarmUps = 3;
constexpr int kReplays = 21;
constexpr int kProfiled = 3;

const c10::Device kGpu{c10::kCUDA, 0};

GptBatch random_rows(const GptConfig& config, std::int64_t clip_count) {
  std::vector<std::vector<std::int64_t>> ids;
  std::uint64_t state = 1;
  const auto draw = [&](std::int64_t count, std::int64_t limit) -> auto& {
    auto& drawn = ids.emplace_back();
    for (std::int64_t i = 0; i < count; ++i) {
      state = state * 6364136223846793005U + 1442695040888963407U;
      drawn.push_back(static_cast<std::int64_t>(state >> 33U) % limit);
    }
    return drawn;
  };
  ids.reserve(static_cast<std::size_t>(2 * clip_count));
  std::vector<GptClip> clips;
  for (std::int64_t i = 0; i < clip_count; ++i) {
    const auto& text = draw(kTextTokens, config.text_ids);
    clips.push_back({.text = text, .codes = draw(kCodes, config.start_audio)});
  }
  return to_batch(pack_rows(config, clips), kGpu);
}

class StepBench {
 public:
  StepBench() {
    for (const auto& [name, weight] : initialise(gpt_specs(config_), 1, kGpu)) {
      auto copy = weight.to(at::kBFloat16).requires_grad_(true);
      copy.mutable_grad() = at::zeros_like(copy);
      weights_.emplace(kGptPrefix + name, copy);
    }
    gpt_ = std::make_unique<Gpt>(config_, weights_);
  }

  void load(std::int64_t clips) {
    batch_ = random_rows(config_, clips);
    mel_ = at::randn({clips, config_.mel_bands, kFrames}, at::TensorOptions(kGpu));
  }

  void measure(const std::string& what, bool kernels) {
    step();
    at::cuda::CUDAGraph graph;
    for (int i = 1; i < kWarmUps; ++i) step();
    graph.capture_begin();
    step();
    graph.capture_end();
    const auto memory = c10::cuda::CUDACachingAllocator::getDeviceStats(0);
    fmt::print("batch {} ({} tokens) {}: {:.2f} ms (median of {}), {:.1f} GB\n", batch_.clips,
               batch_.tokens.size(0), what, median_ms(graph), kReplays,
               static_cast<double>(memory.allocated_bytes[0].peak) * 1e-9);
    if (kernels) print_kernels(graph);
    std::fflush(stdout);
  }

 private:
  void step() {
    const ZeroGradientPromise promise;
    const auto states = gpt_->states(batch_, gpt_->conditioning(mel_), kGptDropout);
    gpt_losses(batch_, gpt_->logits(batch_, states)).total.backward();
  }

  static double median_ms(at::cuda::CUDAGraph& graph) {
    std::vector<at::cuda::CUDAEvent> marks;
    for (int i = 0; i <= kReplays; ++i) marks.emplace_back(cudaEventDefault);
    for (int i = 0; i < kWarmUps; ++i) graph.replay();
    marks[0].record();
    for (std::size_t i = 1; i < marks.size(); ++i) {
      graph.replay();
      marks[i].record();
    }
    marks.back().synchronize();
    std::vector<float> times;
    for (std::size_t i = 1; i < marks.size(); ++i) {
      times.push_back(marks[i - 1].elapsed_time(marks[i]));
    }
    std::ranges::nth_element(times, times.begin() + kReplays / 2);
    return static_cast<double>(times[kReplays / 2]);
  }

  static void print_kernels(at::cuda::CUDAGraph& graph) {
    namespace profiler = torch::profiler::impl;
    const std::set<profiler::ActivityType> kernels = {profiler::ActivityType::CUDA};
    const profiler::ProfilerConfig config(profiler::ProfilerState::KINETO);
    torch::autograd::profiler::prepareProfiler(config, kernels);
    torch::autograd::profiler::enableProfiler(config, kernels);
    for (int i = 0; i < kProfiled; ++i) graph.replay();
    at::cuda::getCurrentCUDAStream().synchronize();
    const auto result = torch::autograd::profiler::disableProfiler();

    struct Sum {
      double ms = 0;
      int calls = 0;
    };
    std::map<std::string, Sum> by_name;
    double total = 0;
    for (const auto& event : result->events()) {
      if (event.deviceType() != c10::kCUDA) continue;
      const double ms = static_cast<double>(event.durationNs()) * 1e-6 / kProfiled;
      auto& sum = by_name[event.name()];
      sum.ms += ms;
      ++sum.calls;
      total += ms;
    }
    std::vector<std::pair<std::string, Sum>> sorted(by_name.begin(), by_name.end());
    std::ranges::sort(sorted,
                      [](const auto& a, const auto& b) { return a.second.ms > b.second.ms; });
    fmt::print("  kernels {:.2f} ms\n", total);
    for (const auto& [name, sum] : sorted) {
      if (sum.ms < 0.002 * total) break;
      fmt::print("  {:8.3f} ms {:5.1f} % {:5} x {}\n", sum.ms, 100 * sum.ms / total,
                 sum.calls / kProfiled, name.substr(0, 120));
    }
  }

  const GptConfig config_ = model_preset("xtts-v2").gpt;
  NamedTensors weights_;
  std::unique_ptr<Gpt> gpt_;
  GptBatch batch_;
  at::Tensor mel_;  // [B, bands, F]
};

void measure_without(StepBench& bench) {
  const std::vector<std::pair<std::string, Operation>> kinds = {
      {"attention", Operation::RowAttention},
      {"products", Operation::Matmul},
      {"norms", Operation::Norm},
      {"group norms", Operation::GroupNorm},
      {"cross entropy", Operation::CrossEntropy},
      {"embeddings", Operation::Embedding}};
  for (const auto& [name, kind] : kinds) {
    const PlainExpressions plain({kind});
    bench.measure("without our " + name, false);
  }
  const PlainExpressions plain;
  bench.measure("without any kernel of ours", false);
}

}  // namespace
}  // namespace myxtts

int main(int count, char** arguments) {
  myxtts::require_cuda();
  const auto stream = c10::cuda::getStreamFromPool(/*isHighPriority=*/true);
  const c10::cuda::CUDAStreamGuard guard(stream);
  myxtts::StepBench bench;
  for (int i = 1; i < count; ++i) {
    const std::string argument = arguments[i];
    bench.load(std::stoll(argument));
    bench.measure("as trained", true);
    at::globalContext().setDeterministicAlgorithms(true, /*warn_only=*/true);
    bench.measure("deterministic", false);
    at::globalContext().setDeterministicAlgorithms(false, false);
    if (argument.ends_with("/without")) measure_without(bench);
  }
  return 0;
}
