// SPDX-License-Identifier: Apache-2.0
#include "train/decoder/training_windows.h"

#include <ATen/ATen.h>

#include "base/error.h"
#include "model/gpt_specs.h"
#include "train/step/parameters.h"

namespace myxtts {
namespace {

// Between which two places of a row each wanted one lies, and how far from the first.
struct Between {
  at::Tensor lower;  // int64
  at::Tensor upper;
  at::Tensor share;  // fp32, of the upper one
};

// As upsample_linear1d finds them by scale, rounding included.
Between between(const at::Tensor& places, double scale, const at::Tensor& length) {
  const auto inverse = static_cast<double>(static_cast<float>(1.0 / scale));
  const auto source = ((places.to(at::kFloat) + 0.5) * inverse - 0.5).clamp_min_(0);
  const auto last = length - 1;
  const auto lower = at::minimum(source.floor().to(at::kLong), last);
  return {.lower = lower,
          .upper = at::minimum(lower + 1, last),
          .share = (source - lower).clamp_(0, 1)};
}

double ratio(std::int64_t over, std::int64_t under) {
  return static_cast<double>(over) / static_cast<double>(under);
}

// Rows `which` [W, F] of latents [N, D], each times its weight.
at::Tensor weighted(const at::Tensor& latents, const at::Tensor& which, const at::Tensor& weights) {
  return latents.index({which}) * weights.unsqueeze(-1);  // [W, F, D]
}

}  // namespace

at::Tensor frame_windows(const DecoderConfig& config, const at::Tensor& latents,
                         const at::Tensor& first, const at::Tensor& counts,
                         const at::Tensor& places) {
  const auto numbers = latents.to(at::kFloat);
  const auto count = counts.unsqueeze(1);
  // The first stretching at `where` [W, F] of it, each times its weight.
  const auto stretched_to_hop = [&](const at::Tensor& where, const at::Tensor& weights) {
    const auto at = between(where, ratio(config.code_stride, config.output_hop), count);
    return weighted(numbers, first.unsqueeze(1) + at.lower, weights * (1 - at.share)) +
           weighted(numbers, first.unsqueeze(1) + at.upper, weights * at.share);
  };
  const auto one = at::ones({}, numbers.options());
  if (config.output_sample_rate == config.input_sample_rate) {
    return stretched_to_hop(places, one.expand(places.sizes())).transpose(1, 2);
  }
  const auto hops = count * config.code_stride / config.output_hop;
  const auto at = between(places, ratio(config.output_sample_rate, config.input_sample_rate),
                          hops.to(at::kLong));
  return (stretched_to_hop(at.lower, 1 - at.share) + stretched_to_hop(at.upper, at.share))
      .transpose(1, 2);
}

namespace {

constexpr std::int64_t kStopsBehind = 3;  // targets of a row behind the one that stops it

// Each number one place later, and the first where it was.
at::Tensor moved_on(const at::Tensor& numbers) {
  return at::cat({numbers.narrow(0, 0, 1), numbers.narrow(0, 0, numbers.size(0) - 1)});
}

void show_stop(const GptConfig& config, GptBatch& rows) {
  const auto is_code = rows.tokens.ge(config.text_ids)
                           .logical_and_(rows.tokens.lt(config.text_ids + config.audio_ids));
  const auto after_code = moved_on(is_code);
  const auto before = moved_on(rows.tokens);
  const auto position = moved_on(rows.positions);
  // Where the first code stood comes the STOP, at the position behind the text's last.
  rows.tokens = at::where(
      is_code, at::where(after_code, before, at::full_like(before, config.stop_text)), rows.tokens);
  rows.positions =
      at::where(is_code, at::where(after_code, position, position + 1), rows.positions);
}

}  // namespace

LatentRows latent_rows(const GptConfig& config, const GptBatch& trained, std::int64_t slots) {
  LatentRows latents = {.rows = trained, .first = {}, .counts = {}};
  show_stop(config, latents.rows);
  const std::int64_t targets = trained.audio_targets.size(0);
  latents.rows.target_rows =
      (trained.target_rows.narrow(0, trained.text_targets.size(0), targets) + 1)
          .clamp_max_(trained.tokens.size(0) - 1);
  const auto clips = at::arange(slots, trained.audio_clips.options());
  latents.first = at::searchsorted(trained.audio_clips, clips);
  const auto ends = at::searchsorted(trained.audio_clips, clips, /*out_int32=*/false,
                                     /*right=*/true);
  latents.counts = (ends - latents.first - kStopsBehind).clamp_min_(1);
  return latents;
}

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
  MYXTTS_CHECK(windows.sound.defined() && windows.starts.defined() && windows.voices.defined(),
               "a batch for the decoder has no sound windows");
  const auto rows = latent_rows(config_.gpt, batch.rows, windows.voices.size(0));
  const std::int64_t frames = windows.sound.size(1) / config_.decoder.output_hop;
  const auto places = windows.starts.unsqueeze(1) + at::arange(frames, windows.starts.options());
  return {.frames = frame_windows(config_.decoder, latents(rows.rows, batch.prompt_mel),
                                  rows.first.index_select(0, windows.clips),
                                  rows.counts.index_select(0, windows.clips), places),
          .speaker = windows.voices.index_select(0, windows.clips).to(at::kFloat).unsqueeze(2),
          .sound = windows.sound,
          .weights = windows.weights};
}

}  // namespace myxtts
