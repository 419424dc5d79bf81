// SPDX-License-Identifier: Apache-2.0
#include "train/decoder/window_maker.h"

#include <ATen/ATen.h>

#include "base/error.h"
#include "model/gpt_specs.h"
#include "train/decoder/frame_windows.h"
#include "train/decoder/latent_rows.h"
#include "train/parameters.h"

namespace myxtts {
namespace {

NamedTensors gpt_copy(const GptConfig& config, const NamedTensors& weights, c10::Device device,
                      at::ScalarType dtype) {
  NamedTensors copies;
  for (const auto& spec : gpt_specs(config)) {
    const std::string name = kGptPrefix + spec.name;
    const auto& tensor = find_tensor(weights, name, spec.shape);
    copies.emplace(name, tensor.to(device, dtype, /*non_blocking=*/false, /*copy=*/true));
  }
  return copies;
}

}  // namespace

WindowMaker::WindowMaker(const ModelConfig& config, const NamedTensors& weights, c10::Device device,
                         at::ScalarType dtype)
    : config_(config), gpt_(config.gpt, gpt_copy(config.gpt, weights, device, dtype)) {}

at::Tensor WindowMaker::latents(const GptBatch& latent_rows, const at::Tensor& prompt_mel) const {
  const at::NoGradGuard no_grad;
  return gpt_.states(latent_rows, gpt_.conditioning(prompt_mel));
}

DecoderWindows WindowMaker::operator()(const DeviceBatch& batch) const {
  const at::NoGradGuard no_grad;
  const SoundWindows& windows = batch.windows;
  MYXTTS_CHECK(
      windows.sound.defined() && windows.first_frames.defined() && windows.voices.defined(),
      "a batch for the decoder has no sound windows");
  const auto rows = latent_rows(config_.gpt, batch.rows, windows.voices.size(0));
  const WantedFrames wanted = {.first_latent = rows.first.index_select(0, windows.clips),
                               .latents = rows.counts.index_select(0, windows.clips),
                               .first_frame = windows.first_frames,
                               .frames = windows.sound.size(1) / config_.decoder.output_hop};
  return {.frames = frame_windows(config_.decoder, latents(rows.rows, batch.prompt_mel), wanted),
          .speaker = windows.voices.index_select(0, windows.clips).to(at::kFloat).unsqueeze(2),
          .sound = windows.sound,
          .weights = windows.weights};
}

}  // namespace myxtts
