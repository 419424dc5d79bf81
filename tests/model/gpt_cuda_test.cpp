// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <cmath>
#include <cstdint>
#include <functional>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "device/cuda_plugin.h"
#include "gpt_golden.h"
#include "kernels/cuda_kernels.h"
#include "model/gpt_specs.h"
#include "model/named_tensors.h"
#include "support/golden.h"

// The GPT on a GPU: equal to the peer in fp32, close in bf16, and one CUDA graph.

namespace myxtts::test::gpt_cuda_test {
namespace {

constexpr double kFp32 = 1e-3;  // relative, TF32 off
constexpr double kBf16 = 0.01;  // relative, of a loss

class GptCuda : public ::testing::Test {
 protected:
  void SetUp() override {
    if (cuda_plugin().backend == nullptr) GTEST_SKIP() << "no CUDA device here";
    at::globalContext().setAllowTF32CuBLAS(false);
    at::globalContext().setAllowTF32CuDNN(false);
  }

  const c10::Device device_{c10::kCUDA, 0};
};

NamedTensors in_bf16(const NamedTensors& weights) {
  NamedTensors copies;
  for (const auto& [name, weight] : weights) {
    copies.emplace(name, weight.detach().to(at::kBFloat16).requires_grad_(true));
  }
  return copies;
}

TEST_F(GptCuda, TheGoldensHoldInFp32) {
  const auto config = golden_gpt_config();
  const auto weights = golden_gpt_weights(device_);
  const Gpt gpt(config, weights);
  const auto golden = read_golden("gpt.safetensors");
  const auto rows = pack_rows(config, views(golden_clips()));
  const auto batch = to_batch(rows, device_);
  const auto mel = mels(golden_clips()).to(device_);

  const auto latents = gpt.conditioning(mel);
  EXPECT_LE(relative_error(latents, golden.at("latents")), kFp32);
  const auto hidden = gpt.hidden(batch, latents);
  for (std::size_t i = 0; i < golden_clips().size(); ++i) {
    const auto own = hidden.narrow(0, rows.segment_ends[i], rows.lengths[i]);
    EXPECT_LE(relative_error(own, golden.at(fmt::format("hidden{}", i))), kFp32) << "clip " << i;
  }
  const auto losses = losses_of(gpt, batch, mel);
  EXPECT_LE(relative_error(at::stack({losses.text, losses.audio}), golden.at("losses")), kFp32);
  losses.total.backward();
  for (const auto& spec : gpt_specs(config)) {
    const auto& gradient = weights.at(kGptPrefix + spec.name).grad();
    EXPECT_LE(relative_error(gradient, golden.at("grad." + spec.name)), kFp32) << spec.name;
  }
}

TEST_F(GptCuda, TheGoldenLossesHoldInBf16WithPaddingOfTheTotal) {
  const auto config = golden_gpt_config();
  const auto weights = in_bf16(golden_gpt_weights(device_));
  const Gpt gpt(config, weights);
  const RowSizes sizes = {.tokens = 256, .text_targets = 64, .audio_targets = 96, .longest = 128};
  const auto batch =
      to_batch(pack_rows(config, views(golden_clips()), PromptMask::None, sizes), device_);
  const auto losses = losses_of(gpt, batch, mels(golden_clips()).to(device_));
  const auto wanted = read_golden("gpt.safetensors").at("losses");
  EXPECT_LE(relative_error(losses.text, wanted[0]), kBf16);
  EXPECT_LE(relative_error(losses.audio, wanted[1]), kBf16);
  losses.total.backward();
  for (const auto& [name, weight] : weights) {
    EXPECT_TRUE(at::isfinite(weight.grad()).all().item<bool>()) << name;
  }
}

// Eight clips of random text and codes, of 3 to 11 seconds, padded to fixed sizes.
struct BigBatch {
  GptBatch batch;
  at::Tensor mel;  // [8, 80, 517]
};

BigBatch random_batch(const GptConfig& config, std::uint32_t seed, c10::Device device) {
  std::mt19937 random(seed);
  const auto ids = [&](std::uint_fast32_t count, std::int64_t limit) {
    std::vector<std::int64_t> result;
    for (std::uint_fast32_t i = 0; i < count; ++i) {
      result.push_back(static_cast<std::int64_t>(random()) % limit);
    }
    return result;
  };
  std::vector<GoldenClip> clips;
  for (int i = 0; i < 8; ++i) {
    clips.push_back({.text = ids(50 + random() % 130, config.text_ids),
                     .codes = ids(65 + random() % 185, config.start_audio),
                     .mel = {},
                     .prompt = {}});
  }
  const RowSizes sizes = {
      .tokens = 4096, .text_targets = 1536, .audio_targets = 2048, .longest = 3072};
  at::manual_seed(seed);
  return {.batch = to_batch(pack_rows(config, views(clips), PromptMask::None, sizes), device),
          .mel = at::randn({8, config.mel_bands, 517}, at::TensorOptions(device))};
}

void copy_into(BigBatch& to, const BigBatch& from) {
  to.mel.copy_(from.mel);
  to.batch.segment_ends.copy_(from.batch.segment_ends);
  to.batch.tokens.copy_(from.batch.tokens);
  to.batch.positions.copy_(from.batch.positions);
  to.batch.target_rows.copy_(from.batch.target_rows);
  to.batch.text_targets.copy_(from.batch.text_targets);
  to.batch.audio_targets.copy_(from.batch.audio_targets);
  to.batch.text_count.copy_(from.batch.text_count);
  to.batch.audio_count.copy_(from.batch.audio_count);
}

double milliseconds(int times, const std::function<void()>& run) {
  at::cuda::getCurrentCUDAStream().synchronize();
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < times; ++i) run();
  at::cuda::getCurrentCUDAStream().synchronize();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin)
             .count() /
         times;
}

// The public size in bf16 and its step without the optimiser.
class BigGpt {
 public:
  explicit BigGpt(c10::Device device) {
    for (const auto& [name, weight] : initialise(gpt_specs(config_), 1, device)) {
      master_.emplace(kGptPrefix + name, weight);
    }
    // As trained: no projection that passes nothing on.
    for (auto& [name, weight] : master_) {
      if (name.ends_with("proj_out.weight")) weight.normal_(0.0, 0.02);
    }
    weights_ = in_bf16(master_);
    gpt_.emplace(config_, weights_);
  }

  void clear_gradients() {
    for (auto& [name, weight] : weights_) weight.mutable_grad().reset();
  }

  at::Tensor step(const BigBatch& big, double dropout) const {
    const auto states = gpt_->states(big.batch, gpt_->conditioning(big.mel), dropout);
    const auto losses = gpt_losses(big.batch, gpt_->logits(big.batch, states));
    losses.total.backward();
    return losses.total.detach();
  }

  NamedTensors gradients() const {
    NamedTensors result;
    for (const auto& [name, weight] : weights_) result.emplace(name, weight.grad().clone());
    return result;
  }

  const GptConfig& config() const { return config_; }
  const NamedTensors& master() const { return master_; }
  const Gpt& gpt() const { return *gpt_; }

 private:
  GptConfig config_ = model_preset("xtts-v2").gpt;
  NamedTensors master_;   // fp32
  NamedTensors weights_;  // bf16 copies that the network is built on
  std::optional<Gpt> gpt_;
};

TEST_F(GptCuda, LossesOfThePublicSizeInBf16AreThoseOfFp32) {
  const at::NoGradGuard no_grad;
  const BigGpt big(device_);
  const auto data = random_batch(big.config(), 1, device_);
  const auto wanted = losses_of(Gpt(big.config(), big.master()), data.batch, data.mel);
  const auto found = losses_of(big.gpt(), data.batch, data.mel);
  EXPECT_LE(relative_error(found.text, wanted.text), kBf16);
  EXPECT_LE(relative_error(found.audio, wanted.audio), kBf16);
}

TEST_F(GptCuda, AGraphOfForwardAndBackwardOfThePublicSizeEqualsEager) {
  const auto stream = c10::cuda::getStreamFromPool(/*isHighPriority=*/true);
  const c10::cuda::CUDAStreamGuard guard(stream);
  BigGpt big(device_);
  auto data = random_batch(big.config(), 1, device_);
  for (int warm_up = 0; warm_up < 3; ++warm_up) {
    big.clear_gradients();
    big.step(data, 0.0);
  }
  const double eager_ms = milliseconds(5, [&] {
    big.clear_gradients();
    big.step(data, 0.0);
  });

  big.clear_gradients();
  at::cuda::CUDAGraph graph;
  graph.capture_begin();
  const auto loss = big.step(data, 0.0);
  graph.capture_end();

  // Another batch than the one it was captured with: nothing of that may be left in it.
  const auto other = random_batch(big.config(), 2, device_);
  copy_into(data, other);
  graph.replay();
  stream.synchronize();
  const auto graph_loss = loss.clone();
  const auto graph_gradients = big.gradients();
  const double graph_ms = milliseconds(5, [&] { graph.replay(); });
  fmt::print("batch 8, {} tokens: eager {:.1f} ms, graph {:.1f} ms\n", data.batch.tokens.size(0),
             eager_ms, graph_ms);

  big.clear_gradients();
  const auto eager_loss = big.step(other, 0.0);
  EXPECT_LE(relative_error(graph_loss, eager_loss), 1e-6);
  for (const auto& [name, gradient] : big.gradients()) {
    EXPECT_LE(relative_error(graph_gradients.at(name).to(at::kFloat), gradient.to(at::kFloat)),
              2e-2)
        << name;  // bf16 sums in another order; equal ones in most tensors
  }
}

// Both in bf16: what each says of a weight's gradient differs from fp32 by rounding, so the kernels
// may be no further from fp32 than the plain expressions are, by and large.
TEST_F(GptCuda, GradientsThroughOurKernelsAreAsCloseToFp32AsThoseOfPlainExpressions) {
  BigGpt big(device_);
  const auto data = random_batch(big.config(), 1, device_);
  NamedTensors exact;
  {
    NamedTensors weights;
    for (const auto& [name, weight] : big.master()) {
      weights.emplace(name, weight.detach().clone().requires_grad_(true));
    }
    losses_of(Gpt(big.config(), weights), data.batch, data.mel).total.backward();
    for (const auto& [name, weight] : weights) exact.emplace(name, weight.grad());
  }
  big.clear_gradients();
  big.step(data, 0.0);
  const auto fused = big.gradients();
  big.clear_gradients();
  {
    const PlainExpressions plain_expressions;
    big.step(data, 0.0);
  }
  const auto error = [&](const at::Tensor& gradient, const std::string& name) {
    return ((gradient - exact.at(name)).norm() / exact.at(name).norm()).item<double>();
  };
  for (const auto& [name, gradient] : big.gradients()) {
    const double plain = error(gradient, name);
    const double ours = error(fused.at(name), name);
    EXPECT_LE(ours, 1.5 * plain + 0.01) << name << ": " << plain;
  }
}

TEST_F(GptCuda, AGraphWithDropoutDrawsNewMasksAtEachReplay) {
  const auto stream = c10::cuda::getStreamFromPool(/*isHighPriority=*/true);
  const c10::cuda::CUDAStreamGuard guard(stream);
  BigGpt big(device_);
  const auto data = random_batch(big.config(), 1, device_);
  for (int warm_up = 0; warm_up < 3; ++warm_up) {
    big.clear_gradients();
    big.step(data, kGptDropout);
  }
  big.clear_gradients();
  at::cuda::CUDAGraph graph;
  graph.capture_begin();
  const auto loss = big.step(data, kGptDropout);
  graph.capture_end();
  std::vector<double> seen;
  for (int replay = 0; replay < 2; ++replay) {
    graph.replay();
    seen.push_back(loss.item<double>());
  }
  EXPECT_TRUE(std::isfinite(seen[0]));
  EXPECT_NE(seen[0], seen[1]);
}

}  // namespace
}  // namespace myxtts::test::gpt_cuda_test
