// SPDX-License-Identifier: Apache-2.0
#include "train/decoder/decoder_training.h"

#include <array>

#include <ATen/ATen.h>
#include <c10/util/Exception.h>
#include <torch/csrc/autograd/autograd.h>

#include "base/error.h"
#include "base/progress.h"
#include "data/batches/sound_window.h"
#include "device/torch_device.h"
#include "model/discriminators.h"
#include "model/network_specs.h"
#include "model/vocoder.h"
#include "run/open_model.h"
#include "train/decoder/gan_losses.h"
#include "train/decoder/training_windows.h"

namespace myxtts {
namespace {

// Before each name of a discriminator's tensor, and of its weights among the optimiser's tensors.
constexpr const char* kDiscriminatorPrefix = "discriminator.";
constexpr const char* kDiscriminatorWeight = "discriminator_weight.";

const StepSettings& checked_step(const ModelConfig& config,
                                 const DecoderTrainingSettings& settings) {
  if (settings.step.precision == Precision::Fp16) {
    throw ConfigError(
        "The decoder cannot be trained with --precision fp16: its sound would overflow. Type "
        "--precision bf16, tf32 or fp32.");
  }
  const std::int64_t least =
      (MelError::minimum_samples() + config.decoder.output_hop - 1) / config.decoder.output_hop;
  if (settings.window_frames < least) {
    throw ConfigError(
        fmt::format("A window of the decoder has {} frames; its spectra need at least {}.",
                    settings.window_frames, least));
  }
  return settings.step;
}

OptimiserSettings gan_optimiser_settings(const DecoderTrainingSettings& settings,
                                         std::size_t losses) {
  OptimiserSettings chosen =
      optimiser_settings(settings.step, /*beta1=*/0.8, /*beta2=*/0.99, losses);
  chosen.moments = settings.moments;
  return chosen;
}

NamedTensors first_discriminators(const DiscriminatorConfig& config, std::uint64_t seed) {
  NamedTensors named;
  for (const auto& [name, tensor] : initialise(discriminator_specs(config), seed)) {
    named.emplace(kDiscriminatorPrefix + name, tensor);
  }
  return named;
}

NamedTensors beginning_with(const NamedTensors& tensors, std::string_view prefix) {
  NamedTensors found;
  for (const auto& [name, tensor] : tensors) {
    if (name.starts_with(prefix)) found.emplace(name.substr(prefix.size()), tensor);
  }
  return found;
}

// Silence, of the sizes that the settings say.
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

// The mean over the windows that count.
at::Tensor mean_of(const at::Tensor& losses, const at::Tensor& weights) {
  return (losses * weights).sum() / weights.sum().clamp_min(1);
}

// The losses of windows, fp32, in the order in which they are reported: mel, feature, adversarial
// and discriminator. Those that the discriminators have part in are 0 until they do.
using GanLosses = std::array<at::Tensor, 4>;

// Note [Both sides at once]
// The discriminators judge what was made once. Two backward passes go through that judgement: one
// to the discriminators' parameters, one to the waveform and on to the decoder's. So both sides
// learn from the same judgement, before either moves; it saves a fifth of the step, the gradients
// of several batches can be added up, and both updates can be left out together.
//
// The two kinds of step, without discriminators and with them, may each be recorded as a CUDA graph
// on windows of its own that every batch's are copied to. The GPT in front is not part of them: its
// sizes differ from batch to batch, and it is queued while the step before it still runs.
class DecoderTraining final : public PartTraining {
 public:
  DecoderTraining(RoleDevice& device, const ModelConfig& config, const NamedTensors& weights,
                  const DecoderTrainingSettings& settings)
      : PartTraining(device, checked_step(config, settings),
                     {"mel_loss", "feature_loss", "adversarial_loss", "discriminator_loss"}),
        settings_(settings),
        dtype_(type_of(settings.step.precision)),
        windows_of_(config, weights, torch_device(device), dtype_),
        decoder_parameters_(lay_out(decoder_specs(config.decoder), kDecoderPrefix, {}), weights,
                            torch_device(device), at::kFloat, /*fixed_gradients=*/true),
        discriminator_parameters_(
            lay_out(discriminator_specs(discriminators_for(config.decoder)), kDiscriminatorPrefix,
                    {}),
            first_discriminators(discriminators_for(config.decoder), settings.step.seed),
            torch_device(device), at::kFloat, /*fixed_gradients=*/true),
        decoder_(config.decoder, decoder_parameters_.tensors()),
        discriminators_(discriminators_for(config.decoder), discriminator_parameters_.tensors(),
                        kDiscriminatorPrefix),
        mel_error_(config.decoder.output_sample_rate, torch_device(device)),
        optimiser_(decoder_parameters_, gan_optimiser_settings(settings, loss_names().size()),
                   device),
        discriminator_optimiser_(discriminator_parameters_, gan_optimiser_settings(settings, 0),
                                 device) {
    for (const auto& [name, tensor] : discriminator_parameters_.tensors()) {
      discriminator_tensors_.push_back(tensor);
    }
    if (settings_.step.graphs) record_graphs(config.decoder);
  }

  // The mel error's part alone.
  double total(std::span<const double> losses) const override {
    return settings_.mel_weight * losses[0];
  }

  NamedTensors weights() const override { return decoder_parameters_.named_weights(); }

  // Both sides' moments, and the discriminators' weights.
  NamedTensors optimiser() const override {
    NamedTensors all = optimiser_.tensors();
    for (const auto& [name, tensor] : discriminator_optimiser_.tensors()) {
      all.emplace(kDiscriminatorPrefix + name, tensor);
    }
    for (const auto& [name, tensor] : discriminator_parameters_.named_weights()) {
      all.emplace(kDiscriminatorWeight + name, tensor);
    }
    return all;
  }

 private:
  // The decoder's optimiser reports the losses of both sides.
  std::vector<const Optimiser*> optimisers() const override {
    return {&optimiser_, &discriminator_optimiser_};
  }

  void pass(const DeviceBatch& batch) override;
  void apply(double learning_rate) override;
  at::Tensor measure(const DeviceBatch& batch) const override;
  void load(const NamedTensors& weights, const NamedTensors& optimiser) override;

  bool with_discriminators() const { return step() >= settings_.mel_only_steps; }

  void record_graphs(const DecoderConfig& config);
  std::unique_ptr<RecordedGraph> record(bool with_discriminators);
  void replay(const DecoderWindows& windows);
  void compute(const DecoderWindows& windows, bool with_discriminators);
  GanLosses backward(const DecoderWindows& windows, bool with_discriminators) const;
  GanLosses losses_of_each(const DecoderWindows& windows) const;
  at::Tensor sound_of(const DecoderWindows& windows) const;  // [W, S]
  void share_faults();

  const DecoderTrainingSettings settings_;
  const at::ScalarType dtype_;
  const WindowMaker windows_of_;
  Parameters decoder_parameters_;
  Parameters discriminator_parameters_;
  const Decoder decoder_;
  const Discriminators discriminators_;
  const MelError mel_error_;
  std::vector<at::Tensor> discriminator_tensors_;
  Optimiser optimiser_;
  Optimiser discriminator_optimiser_;

  // Of graphs, where they are recorded.
  DecoderWindows inputs_;
  std::unique_ptr<GraphRecorder> recorder_;  // before its graphs
  std::unique_ptr<RecordedGraph> mel_only_graph_;
  std::unique_ptr<RecordedGraph> gan_graph_;
};

// Windows are all of one size, so looking for the fastest convolutions pays while they are
// recorded; afterwards it would cost a search for each length of clip on the data's side.
void DecoderTraining::record_graphs(const DecoderConfig& config) {
  at::globalContext().setBenchmarkCuDNN(!settings_.step.deterministic);
  inputs_ = empty_windows(config, settings_, torch_device(device()));
  recorder_ = device().make_graph_recorder();
  MYXTTS_CHECK(recorder_ != nullptr, "{} has no graphs", device().name());
  Progress progress({.title = "Recording steps as CUDA graphs", .total = 2});
  gan_graph_ = record(/*with_discriminators=*/true);  // the largest first
  progress.advance();
  mel_only_graph_ = record(/*with_discriminators=*/false);
  progress.advance();
  at::globalContext().setBenchmarkCuDNN(false);
  optimiser_.clear();  // of what ran before the recordings
  discriminator_optimiser_.clear();
}

// Runs once, so that LibTorch chooses its kernels, and records.
std::unique_ptr<RecordedGraph> DecoderTraining::record(bool with_discriminators) {
  try {
    compute(inputs_, with_discriminators);
    return recorder_->record([&] { compute(inputs_, with_discriminators); });
  } catch (const c10::OutOfMemoryError&) {
    throw;  // it says itself what would help
  } catch (const c10::Error& error) {
    throw DeviceError(
        fmt::format("The decoder's step on {} windows cannot be recorded as a CUDA graph on {}: {} "
                    "Type --disable-static-shapes to train without graphs.",
                    inputs_.sound.size(0), device().name(), error.what_without_backtrace()));
  }
}

void DecoderTraining::replay(const DecoderWindows& windows) {
  MYXTTS_CHECK(windows.sound.sizes() == inputs_.sound.sizes(),
               "{} windows of {} samples came where a step of {} windows of {} was recorded",
               windows.sound.size(0), windows.sound.size(1), inputs_.sound.size(0),
               inputs_.sound.size(1));
  inputs_.frames.copy_(windows.frames);
  inputs_.speaker.copy_(windows.speaker);
  inputs_.sound.copy_(windows.sound);
  inputs_.weights.copy_(windows.weights);
  (with_discriminators() ? gan_graph_ : mel_only_graph_)->replay();
}

void DecoderTraining::pass(const DeviceBatch& batch) {
  const DecoderWindows windows = windows_of_(batch);
  if (recorder_) {
    replay(windows);
  } else {
    compute(windows, with_discriminators());
  }
}

// Forward and backward of one batch, and its losses.
void DecoderTraining::compute(const DecoderWindows& windows, bool with_discriminators) {
  const GanLosses losses = backward(windows, with_discriminators);
  const auto& [mel, feature, adversarial, discriminator] = losses;
  const auto trained =
      settings_.mel_weight * mel + settings_.feature_weight * feature + adversarial;
  const auto all = at::stack({trained, mel, feature, adversarial, discriminator});
  optimiser_.losses().add_(all / static_cast<double>(settings_.step.batches_a_step));
  optimiser_.add_up();
  if (with_discriminators) discriminator_optimiser_.add_up();
}

// Adds gradients to those of both sides' parameters, or, without discriminators, to the decoder's.
// Gives the weighted means of the losses over the windows: scalars.
GanLosses DecoderTraining::backward(const DecoderWindows& windows, bool with_discriminators) const {
  const double share = 1.0 / static_cast<double>(settings_.step.batches_a_step);
  const auto made = sound_of(windows);
  const auto mel = mean_of(mel_error_(made, windows.sound), windows.weights);
  poll();
  const auto trained = mel * (settings_.mel_weight * share);
  if (!with_discriminators) {
    trained.backward();
    const auto none = at::zeros_like(mel.detach());
    return {mel.detach(), none, none, none};
  }

  const auto shown = made.detach().requires_grad_(true);
  const auto of_recorded = discriminators_(windows.sound, dtype_);
  const auto of_made = discriminators_(shown, dtype_);
  poll();
  const auto feature = mean_of(feature_loss(of_recorded, of_made), windows.weights);
  const auto adversarial = mean_of(adversarial_loss(of_made), windows.weights);
  const auto judged = feature * settings_.feature_weight + adversarial;
  const auto gradient = torch::autograd::grad({judged * share}, {shown}, /*grad_outputs=*/{},
                                              /*retain_graph=*/true)[0];
  poll();
  const auto discriminator = mean_of(discriminator_loss(of_recorded, of_made), windows.weights);
  torch::autograd::backward({discriminator * share}, /*grad_tensors=*/{}, /*retain_graph=*/{},
                            /*create_graph=*/false, discriminator_tensors_);
  poll();
  torch::autograd::backward({trained, made}, {at::ones_like(trained), gradient});
  return {mel.detach(), feature.detach(), adversarial.detach(), discriminator.detach()};
}

at::Tensor DecoderTraining::sound_of(const DecoderWindows& windows) const {
  poll();
  return decoder_.generate(windows.frames.to(dtype_), windows.speaker.to(dtype_)).squeeze(1);
}

void DecoderTraining::apply(double learning_rate) {
  if (with_discriminators()) {
    share_faults();
    discriminator_optimiser_.update(step() + 1, learning_rate);
  }
  optimiser_.update(step() + 1, learning_rate);
}

// What is not a number on one side becomes the loss of both, so that both are left alone.
void DecoderTraining::share_faults() {
  const auto fault = (decoder_parameters_.gradients().sum() +
                      discriminator_parameters_.gradients().sum() + optimiser_.losses().sum())
                         .mul_(0);
  optimiser_.losses().narrow(0, 0, 1).add_(fault);
  discriminator_optimiser_.losses().add_(fault);
}

// Of each window [W]: nothing is changed.
GanLosses DecoderTraining::losses_of_each(const DecoderWindows& windows) const {
  const auto made = sound_of(windows);
  const auto mel = mel_error_(made, windows.sound);
  const auto none = at::zeros_like(mel);
  if (!with_discriminators()) {
    return {mel, none, none, none};
  }
  const auto of_recorded = discriminators_(windows.sound, dtype_);
  const auto of_made = discriminators_(made, dtype_);
  return {mel, feature_loss(of_recorded, of_made), adversarial_loss(of_made),
          discriminator_loss(of_recorded, of_made)};
}

at::Tensor DecoderTraining::measure(const DeviceBatch& batch) const {
  const DecoderWindows windows = windows_of_(batch);
  const auto each = at::stack(losses_of_each(windows));
  const auto counted = windows.weights.sum().expand({each.size(0)});
  return at::stack({(each * windows.weights).sum(1), counted});
}

void DecoderTraining::load(const NamedTensors& weights, const NamedTensors& optimiser) {
  decoder_parameters_.load(weights);
  discriminator_parameters_.load(beginning_with(optimiser, kDiscriminatorWeight));
  optimiser_.load(optimiser);
  discriminator_optimiser_.load(beginning_with(optimiser, kDiscriminatorPrefix));
}

}  // namespace

std::unique_ptr<PartTraining> make_decoder_training(const ModelConfig& config,
                                                    const NamedTensors& weights, RoleDevice& device,
                                                    const DecoderTrainingSettings& settings) {
  return make_on<DecoderTraining>(device, config, weights, settings);
}

std::unique_ptr<PartTraining> make_decoder_training(const TrainingInputs& inputs) {
  if (inputs.config.train.freeze) {
    throw ConfigError(
        "--freeze does not go with --stage decoder, which is trained whole; leave it out.");
  }
  return make_decoder_training(inputs.model.config, inputs.model.model, inputs.device,
                               {.step = step_settings(inputs),
                                .moments = inputs.plan.savers.moments,
                                .windows = inputs.windows.count(),
                                .window_frames = inputs.windows.length,
                                .mel_only_steps = inputs.config.train.mel_only_steps});
}

}  // namespace myxtts
