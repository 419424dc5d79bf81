// SPDX-License-Identifier: Apache-2.0
#include "pipeline/clip_resampler.h"

#include <ATen/ATen.h>

#include "audio/resampled_length.h"

namespace myxtts {
namespace {

constexpr double kFullScale = 32768.0;

// Clips are padded to a multiple of this, so that few shapes need a plan of cuDNN.
constexpr std::int64_t kStep = 1 << 16;

}  // namespace

at::Tensor ClipResampler::operator()(const ClipSound& clip, std::int64_t rate) {
  const auto wave = clip.samples.to(at::kFloat).div_(kFullScale);
  return clip.rate == rate ? wave : resampled(wave, clip.rate, rate).clamp_(-1.0, 1.0);
}

at::Tensor ClipResampler::resampled(const at::Tensor& wave, std::int64_t from, std::int64_t to) {
  if (from == to) return wave;
  auto found = resamplers_.find({from, to});
  if (found == resamplers_.end()) {
    found = resamplers_.try_emplace({from, to}, from, to, device_).first;
  }
  const auto samples = wave.size(0);
  auto padded = at::zeros({(samples + kStep - 1) / kStep * kStep}, wave.options());
  padded.narrow(0, 0, samples).copy_(wave);
  return found->second(padded).narrow(0, 0, resampled_length(samples, from, to));
}

at::Tensor in_16_bits(const at::Tensor& wave) {
  return (wave * kFullScale).round_().clamp_max_(kFullScale - 1).to(at::kShort);
}

}  // namespace myxtts
