// SPDX-License-Identifier: Apache-2.0
#include "train/decoder/gan_step.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>

#include "train/arithmetic.h"
#include "train/decoder/gan_losses.h"

namespace myxtts {
namespace {

// The mean over the windows that count.
at::Tensor mean_of(const at::Tensor& losses, const at::Tensor& weights) {
  return (losses * weights).sum() / weights.sum().clamp_min(1);
}

}  // namespace

GanStep::GanStep(const DecoderConfig& config, const Parameters& decoder,
                 const Parameters& discriminators, const DecoderTrainingSettings& settings)
    : settings_(settings),
      dtype_(type_of(settings.precision)),
      decoder_(config, decoder.tensors()),
      discriminators_(discriminators_for(config), discriminators.tensors(), kDiscriminatorPrefix),
      mel_error_(config.output_sample_rate, decoder.weights().device()) {
  for (const auto& [name, tensor] : discriminators.tensors()) judges_.push_back(tensor);
}

void GanStep::on_the_way() const {
  if (settings_.on_the_way && !settings_.graphs) settings_.on_the_way();
}

at::Tensor GanStep::made_of(const DecoderWindows& windows) const {
  on_the_way();
  return decoder_.generate(windows.frames.to(dtype_), windows.speaker.to(dtype_)).squeeze(1);
}

GanLosses GanStep::pass(const DecoderWindows& windows, bool with_discriminators) const {
  const double share = 1.0 / static_cast<double>(settings_.batches_a_step);
  const auto made = made_of(windows);
  const auto mel = mean_of(mel_error_(made, windows.sound), windows.weights);
  on_the_way();
  const auto trained = mel * (settings_.mel_weight * share);
  if (!with_discriminators) {
    trained.backward();
    const auto none = at::zeros_like(mel.detach());
    return {.mel = mel.detach(), .feature = none, .adversarial = none, .discriminator = none};
  }

  const auto shown = made.detach().requires_grad_(true);
  const auto of_recorded = discriminators_(windows.sound, dtype_);
  const auto of_made = discriminators_(shown, dtype_);
  on_the_way();
  const auto feature = mean_of(feature_loss(of_recorded, of_made), windows.weights);
  const auto adversarial = mean_of(adversarial_loss(of_made), windows.weights);
  const auto judged = feature * settings_.feature_weight + adversarial;
  const auto gradient = torch::autograd::grad({judged * share}, {shown}, /*grad_outputs=*/{},
                                              /*retain_graph=*/true)[0];
  on_the_way();
  const auto discriminator = mean_of(discriminator_loss(of_recorded, of_made), windows.weights);
  torch::autograd::backward({discriminator * share}, /*grad_tensors=*/{}, /*retain_graph=*/{},
                            /*create_graph=*/false, judges_);
  on_the_way();
  torch::autograd::backward({trained, made}, {at::ones_like(trained), gradient});
  return {.mel = mel.detach(),
          .feature = feature.detach(),
          .adversarial = adversarial.detach(),
          .discriminator = discriminator.detach()};
}

GanLosses GanStep::measure(const DecoderWindows& windows, bool with_discriminators) const {
  const at::NoGradGuard no_grad;
  const auto made = made_of(windows);
  const auto mel = mel_error_(made, windows.sound);
  const auto none = at::zeros_like(mel);
  if (!with_discriminators) {
    return {.mel = mel, .feature = none, .adversarial = none, .discriminator = none};
  }
  const auto of_recorded = discriminators_(windows.sound, dtype_);
  const auto of_made = discriminators_(made, dtype_);
  return {.mel = mel,
          .feature = feature_loss(of_recorded, of_made),
          .adversarial = adversarial_loss(of_made),
          .discriminator = discriminator_loss(of_recorded, of_made)};
}

}  // namespace myxtts
