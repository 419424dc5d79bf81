// SPDX-License-Identifier: Apache-2.0
#include "train/decoder/gan_step.h"

#include <array>
#include <utility>

#include <ATen/ATen.h>
#include <c10/util/Exception.h>
#include <torch/csrc/autograd/autograd.h>

#include "audio/exact_ops.h"
#include "audio/mel_spectrogram.h"
#include "base/error.h"
#include "base/progress.h"
#include "train/step/stage_training.h"

namespace myxtts {
namespace {

constexpr double kLogFloor = 1e-5;

struct Sizes {
  std::int64_t fft_size;
  std::int64_t bands;  // as many as leave none of them empty
};
constexpr std::array<Sizes, 4> kSizes = {{{2048, 160}, {1024, 100}, {512, 50}, {256, 25}}};

}  // namespace

MelError::MelError(std::int64_t sample_rate, c10::Device device) {
  for (const auto& [fft_size, bands] : kSizes) {
    const MelConfig mel = {.sample_rate = sample_rate,
                           .fft_size = fft_size,
                           .window = fft_size,
                           .hop = fft_size / 4,
                           .bands = bands,
                           .high_hz = static_cast<double>(sample_rate) / 2};
    resolutions_.push_back({.sizes = {.fft_size = fft_size, .hop = mel.hop},
                            .window = mel_window(mel).to(device),
                            .filters = mel_filters(mel).to(device)});
  }
}

std::int64_t MelError::minimum_samples() {
  return kSizes.front().fft_size / 2 + 1;
}

at::Tensor MelError::log_mel(const Resolution& resolution, const at::Tensor& sound) {
  const auto spectrum = magnitudes(sound, resolution.window, resolution.sizes);  // [W, bins, F]
  return exact_matmul(spectrum.transpose(1, 2), resolution.filters).clamp_min(kLogFloor).log();
}

at::Tensor MelError::operator()(const at::Tensor& made, const at::Tensor& wanted) const {
  at::Tensor sum;
  for (const auto& resolution : resolutions_) {
    const auto difference = log_mel(resolution, made) - log_mel(resolution, wanted);
    const auto error = difference.abs().mean({1, 2});  // [W]
    sum = sum.defined() ? sum + error : error;
  }
  return sum / static_cast<double>(resolutions_.size());
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

GanGraphs::GanGraphs(RoleDevice& device, DecoderWindows inputs, const GanWork& mel_only,
                     const GanWork& with_discriminators)
    : inputs_(std::move(inputs)), recorder_(device.make_graph_recorder()) {
  MYXTTS_CHECK(recorder_ != nullptr, "{} has no graphs", device.name());
  Progress progress({.title = "Recording steps as CUDA graphs", .total = 2});
  with_discriminators_ = record(device, with_discriminators);  // the largest first
  progress.advance();
  mel_only_ = record(device, mel_only);
  progress.advance();
}

GanGraphs::~GanGraphs() = default;

std::unique_ptr<RecordedGraph> GanGraphs::record(RoleDevice& device, const GanWork& work) {
  try {
    work(inputs_);
    return recorder_->record([&] { work(inputs_); });
  } catch (const c10::OutOfMemoryError&) {
    throw;  // it says itself what would help
  } catch (const c10::Error& error) {
    throw DeviceError(
        fmt::format("The decoder's step on {} windows cannot be recorded as a CUDA graph on {}: {} "
                    "Type --disable-static-shapes to train without graphs.",
                    inputs_.sound.size(0), device.name(), error.what_without_backtrace()));
  }
}

void GanGraphs::replay(const DecoderWindows& windows, bool with_discriminators) {
  MYXTTS_CHECK(windows.sound.sizes() == inputs_.sound.sizes(),
               "{} windows of {} samples came where a step of {} windows of {} was recorded",
               windows.sound.size(0), windows.sound.size(1), inputs_.sound.size(0),
               inputs_.sound.size(1));
  inputs_.frames.copy_(windows.frames);
  inputs_.speaker.copy_(windows.speaker);
  inputs_.sound.copy_(windows.sound);
  inputs_.weights.copy_(windows.weights);
  (with_discriminators ? with_discriminators_ : mel_only_)->replay();
}

DecoderWindows empty_windows(const DecoderConfig& config, const DecoderTrainingSettings& settings,
                             c10::Device device) {
  const auto fp32 = at::TensorOptions(device).dtype(at::kFloat);
  const std::int64_t count = settings.windows;
  const std::int64_t frames = settings.window_frames;
  return {.frames = at::zeros({count, frames, config.input_dim}, fp32).transpose(1, 2),
          .speaker = at::zeros({count, config.speaker_dim, 1}, fp32),
          .sound = at::zeros({count, frames * config.output_hop}, fp32),
          .weights = at::ones({count}, fp32)};
}

}  // namespace myxtts
