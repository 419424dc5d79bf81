// SPDX-License-Identifier: Apache-2.0
#include "train/decoder/gan_losses.h"

#include <array>
#include <utility>

#include <ATen/ATen.h>

#include "audio/exact_ops.h"

namespace myxtts {
namespace {

constexpr double kLogFloor = 1e-5;

// FFT sizes, and as many bands as leave none of them empty.
constexpr std::array<std::pair<std::int64_t, std::int64_t>, 4> kSizes = {
    {{2048, 160}, {1024, 100}, {512, 50}, {256, 25}}};

}  // namespace

MelError::MelError(std::int64_t sample_rate, c10::Device device) {
  for (const auto& [fft_size, bands] : kSizes) {
    const MelConfig mel = {.sample_rate = sample_rate,
                           .fft_size = fft_size,
                           .window = fft_size,
                           .hop = fft_size / 4,
                           .bands = bands,
                           .high_hz = static_cast<double>(sample_rate) / 2};
    windows_.push_back(mel_window(mel).to(device));
    filters_.push_back(mel_filters(mel).to(device));
  }
}

std::int64_t MelError::minimum_samples() {
  return kSizes.front().first / 2 + 1;
}

at::Tensor MelError::operator()(const at::Tensor& made, const at::Tensor& wanted) const {
  at::Tensor sum;
  for (std::size_t i = 0; i < windows_.size(); ++i) {
    const auto log_mel = [&](const at::Tensor& sound) {
      const auto spectrum = magnitudes(sound, windows_[i]);  // [W, bins, F]
      return exact_matmul(spectrum.transpose(1, 2), filters_[i]).clamp_min(kLogFloor).log();
    };
    const auto difference = log_mel(made) - log_mel(wanted);
    const auto error = difference.abs().mean({1, 2});  // [W]
    sum = sum.defined() ? sum + error : error;
  }
  return sum / static_cast<double>(windows_.size());
}

namespace {

at::Tensor squared_distance(const at::Tensor& scores, double wanted) {  // [W, ...] -> [W]
  return (scores.to(at::kFloat) - wanted).square().flatten(1).mean(1);
}

void add(at::Tensor& sum, const at::Tensor& loss) {
  sum = sum.defined() ? sum + loss : loss;
}

}  // namespace

at::Tensor discriminator_loss(const Judgement& recorded, const Judgement& made) {
  at::Tensor sum;
  for (const auto& scores : recorded.scores) add(sum, squared_distance(scores, 1));
  for (const auto& scores : made.scores) add(sum, squared_distance(scores, 0));
  return sum;
}

at::Tensor adversarial_loss(const Judgement& made) {
  at::Tensor sum;
  for (const auto& scores : made.scores) add(sum, squared_distance(scores, 1));
  return sum;
}

at::Tensor feature_loss(const Judgement& recorded, const Judgement& made) {
  at::Tensor sum;
  for (std::size_t i = 0; i < made.features.size(); ++i) {
    const auto distance = (recorded.features[i].detach() - made.features[i]).abs();
    add(sum, distance.mean({1, 2, 3}, /*keepdim=*/false, at::kFloat));
  }
  return sum;
}

}  // namespace myxtts
