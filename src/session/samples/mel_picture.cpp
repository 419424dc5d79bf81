// SPDX-License-Identifier: Apache-2.0
#include "session/samples/mel_picture.h"

#include <algorithm>
#include <cmath>

#include <ATen/ATen.h>

#include "audio/mel_spectrogram.h"

namespace myxtts {
namespace {

constexpr double kDarkest = -11.5;   // ln power: where the model's own floor is
constexpr double kLightest = 4.0;    // what loud speech reaches
constexpr std::int64_t kAcross = 2;  // pixels of a frame
constexpr std::int64_t kDown = 3;    // pixels of a band
constexpr std::int64_t kGap = 4;     // pixels between two spectrograms

// [bands · kDown, F · kAcross] of shades.
at::Tensor shades_of(const at::Tensor& log_mel) {
  const auto share = (log_mel.cpu().to(at::kFloat) - kDarkest) / (kLightest - kDarkest);
  const auto shades = at::nan_to_num(share, 0.0).clamp(0.0, 1.0).mul(255.0).round().to(at::kByte);
  return shades.flip({0}).repeat_interleave(kDown, 0).repeat_interleave(kAcross, 1);
}

}  // namespace

at::Tensor log_mel(const at::Tensor& sound, std::int64_t sample_rate) {
  MelConfig config = dvae_mel_config();
  config.hop = std::llround(static_cast<double>(config.hop * sample_rate) /
                            static_cast<double>(config.sample_rate));
  config.sample_rate = sample_rate;
  const MelSpectrogram mel(config, at::kCPU);
  const auto missing = std::max<std::int64_t>(mel.minimum_samples() - sound.size(0), 0);
  const auto padded = at::constant_pad_nd(sound, {0, missing});
  return mel(padded.unsqueeze(0)).squeeze(0).clamp_min(1e-5).log();
}

Picture mel_picture(const std::vector<at::Tensor>& log_mels) {
  std::vector<at::Tensor> panels;
  std::int64_t width = 1;
  for (const auto& mel : log_mels) width = std::max(width, mel.size(1) * kAcross);
  for (const auto& mel : log_mels) {
    if (!panels.empty()) panels.push_back(at::full({kGap, width}, 255, at::kByte));
    const auto shades = shades_of(mel);
    panels.push_back(at::constant_pad_nd(shades, {0, width - shades.size(1)}));
  }
  const auto all = at::cat(panels).contiguous();
  const auto* first = all.const_data_ptr<std::uint8_t>();
  return {.width = width, .height = all.size(0), .shades = {first, first + all.numel()}};
}

}  // namespace myxtts
