// SPDX-License-Identifier: Apache-2.0
#include <functional>
#include <vector>

#include <ATen/ATen.h>
#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "audio/mel_spectrogram.h"
#include "audio/resample.h"
#include "model/dvae.h"
#include "model/network_specs.h"
#include "model/speaker_encoder.h"
#include "model/vocoder.h"
#include "support/formula_weights.h"
#include "support/golden.h"

// Front ends and convolutional networks on a GPU: equal to the peer in fp32, and as CUDA graphs.

namespace myxtts::test::networks_cuda_test {
namespace {

constexpr double kFp32 = 1e-3;

class NetworksCuda : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!at::hasCUDA()) GTEST_SKIP() << "no CUDA device here";
    allow_tf32(false);
  }
  void TearDown() override { allow_tf32(false); }

  static void allow_tf32(bool allow) {
    at::globalContext().setAllowTF32CuBLAS(allow);
    at::globalContext().setAllowTF32CuDNN(allow);
  }

  NamedTensors weights(const TensorSpecs& specs, const std::string& seed) const {
    auto tensors = formula_weights(specs, seed);
    for (auto& [name, tensor] : tensors) tensor = tensor.to(device_);
    return tensors;
  }

  at::Tensor mel_stats() const { return (formula_values("mel_stats", {80}) * 0.5 + 2).to(device_); }

  // What `compute` gives eagerly and what its captured graph gives for the same input must be
  // equal.
  static void expect_graph_equals_eager(const std::function<at::Tensor()>& compute) {
    const auto stream = c10::cuda::getStreamFromPool();
    const c10::cuda::CUDAStreamGuard guard(stream);
    const auto eager = compute();
    compute();  // plans and workspaces exist before the capture
    at::cuda::CUDAGraph graph;
    graph.capture_begin();
    const auto captured = compute();
    graph.capture_end();
    graph.replay();
    stream.synchronize();
    EXPECT_LE(max_abs_difference(captured, eager), 1e-5);
  }

  const c10::Device device_{c10::kCUDA, 0};
};

TEST_F(NetworksCuda, TheResamplerHoldsItsGoldens) {
  const auto golden = read_golden("audio/resample.safetensors");
  for (const auto& [from, to] : {std::pair{44100, 22050}, {22050, 16000}, {22255, 22050}}) {
    const auto noise = formula_values(fmt::format("noise.{}", from), {2, 1500}).to(device_);
    EXPECT_LE(max_abs_difference(Resampler(from, to, device_)(noise),
                                 golden.at(fmt::format("{}.{}", from, to))),
              1e-5);
  }
}

// Also while a trainer has TF32 switched on.
TEST_F(NetworksCuda, MelsAndCodesHoldTheirGoldensWhateverTf32Is) {
  const auto mels = read_golden("audio/mels.safetensors");
  const auto golden = read_golden("networks/public.safetensors");
  const Dvae dvae({}, weights(dvae_specs({}), "public.dvae."));
  for (const bool tf32 : {false, true}) {
    allow_tf32(tf32);
    const auto z = dvae.encode(mels.at("dvae").to(device_));
    EXPECT_LE(relative_error(z, golden.at("dvae.z")), 1e-5) << "TF32 " << tf32;
    const auto codes = dvae.quantise(z);
    EXPECT_TRUE(codes.cpu().equal(golden.at("dvae.codes"))) << "TF32 " << tf32;
    EXPECT_LE(relative_error(dvae.decode(dvae.look_up(codes)), golden.at("dvae.decoded")), 1e-4);
    const auto noise = (formula_values("short", {1, 1025}) * 0.5).to(device_);
    const auto mel =
        normalised_log_mel(MelSpectrogram(conditioning_mel_config(), device_)(noise), mel_stats());
    EXPECT_LE(max_abs_difference(mel, mels.at("short.conditioning")), 2e-4) << "TF32 " << tf32;
  }
}

TEST_F(NetworksCuda, TheDecoderHoldsItsGolden) {
  const auto golden = read_golden("networks/public.safetensors").at("decoder.wave");
  const Decoder decoder({}, weights(decoder_specs({}), "public.decoder."), "");
  const auto wave = decoder((formula_values("public.latents", {1, 7, 1024}) * 2).to(device_),
                            (formula_values("public.speaker", {1, 512, 1}) * 0.08).to(device_));
  EXPECT_LE(relative_error(wave, golden), kFp32);
  EXPECT_LE(max_abs_difference(wave, golden), 1e-3);
}

TEST_F(NetworksCuda, TheSpeakerEncoderHoldsItsGolden) {
  const auto golden = read_golden("networks/public.safetensors").at("speaker_encoder.vector");
  auto tensors = weights(speaker_encoder_specs({}), "public.speaker_encoder.");
  for (const auto& [name, table] : speaker_encoder_tables({})) {
    tensors.emplace(name, table.to(device_));
  }
  const auto speech = read_golden("audio/mels.safetensors").at("speech_16k").to(device_);
  const auto vector = SpeakerEncoder({}, tensors, "")(speech);
  EXPECT_LE(relative_error(vector, golden), kFp32);
}

TEST_F(NetworksCuda, CodesOfAPaddedBatchAreOneGraphFromTheSamplesOn) {
  const MelSpectrogram mel(dvae_mel_config(), device_);
  const Dvae dvae({}, weights(dvae_specs({}), "public.dvae."));
  const auto clips = formula_values("clips", {3, 30000}).to(device_);
  const auto lengths = at::tensor(std::vector<std::int64_t>{30000, 7777, 1024}).to(device_);
  const auto stats = mel_stats();
  expect_graph_equals_eager([&] {
    const auto frames = mel.frame_count(lengths);
    return dvae.quantise(dvae.encode(normalised_log_mel(mel(clips, lengths), stats), frames));
  });
}

TEST_F(NetworksCuda, TheDecoderIsOneGraph) {
  const Decoder decoder({}, weights(decoder_specs({}), "public.decoder."), "");
  const auto latents = (formula_values("public.latents", {1, 7, 1024}) * 2).to(device_);
  const auto speaker = (formula_values("public.speaker", {1, 512, 1}) * 0.08).to(device_);
  expect_graph_equals_eager([&] { return decoder(latents, speaker); });
}

TEST_F(NetworksCuda, TheSpeakerEncoderIsOneGraph) {
  auto tensors = weights(speaker_encoder_specs({}), "public.speaker_encoder.");
  for (const auto& [name, table] : speaker_encoder_tables({})) {
    tensors.emplace(name, table.to(device_));
  }
  const SpeakerEncoder encoder({}, tensors, "");
  const auto speech = read_golden("audio/mels.safetensors").at("speech_16k").to(device_);
  expect_graph_equals_eager([&] { return encoder(speech); });
}

}  // namespace
}  // namespace myxtts::test::networks_cuda_test
