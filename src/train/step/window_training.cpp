// SPDX-License-Identifier: Apache-2.0
#include "train/step/window_training.h"

#include <array>
#include <utility>

#include <ATen/ATen.h>
#include <c10/util/Exception.h>

#include "base/error.h"
#include "base/random.h"
#include "device/torch_device.h"

namespace myxtts {
namespace {

// Those that the networks of windows read.
constexpr std::array kInputs = {&SoundWindows::weights, &SoundWindows::clips, &SoundWindows::mel,
                                &SoundWindows::sound, &SoundWindows::speakers};

const StepSettings& checked(const StepSettings& settings) {
  if (settings.precision == Precision::Fp32 || settings.precision == Precision::Tf32) {
    return settings;
  }
  throw ConfigError(
      "This part trains in fp32 or tf32, as shorter numbers would change which code is the "
      "nearest and what a batch's statistics are. Type --precision tf32, or fp32.");
}

SoundWindows zeros_like(const SoundWindows& windows, c10::Device device) {
  SoundWindows zeros;
  for (const auto input : kInputs) {
    if ((windows.*input).defined()) zeros.*input = at::zeros_like(windows.*input, device);
  }
  zeros.weights.fill_(1);
  return zeros;
}

}  // namespace

WindowTraining::WindowTraining(RoleDevice& device, const StepSettings& settings,
                               std::vector<std::string> loss_names, ParameterLayout layout,
                               const NamedTensors& weights)
    : PartTraining(device, checked(settings), std::move(loss_names)),
      parameters_(std::move(layout), weights, torch_device(device), at::kFloat,
                  /*fixed_gradients=*/true),
      optimiser_(
          parameters_,
          optimiser_settings(settings, /*beta1=*/0.9, /*beta2=*/0.99, this->loss_names().size()),
          device) {
  poll_in_backward(parameters_);
}

WindowTraining::~WindowTraining() = default;

void WindowTraining::record_graphs(const SoundWindows& windows) {
  if (!step_settings().graphs) return;
  recorder_ = device().make_graph_recorder();
  MYXTTS_CHECK(recorder_ && windows.weights.defined(), "no graphs for {}", device().name());
  inputs_ = zeros_like(windows, torch_device(device()));
  const auto skipped = optimiser_.skipped();
  // Once without recording, for LibTorch to load its kernels and to make its work spaces. The
  // update counts as skipped, so that nothing is changed.
  backward(inputs_);
  update_buffers(at::ones_like(skipped));
  optimiser_.clear();
  clear_buffers();
  try {
    pass_graph_ = recorder_->record([&] { backward(inputs_); });
    update_graph_ = recorder_->record([&] { update_buffers(skipped); });
  } catch (const c10::OutOfMemoryError&) {
    throw;  // it says itself what would help
  } catch (const c10::Error& error) {
    throw DeviceError(
        fmt::format("The step of {} windows cannot be recorded as a CUDA graph on {}: {} Type "
                    "--disable-static-shapes to train without graphs.",
                    inputs_.weights.size(0), device().name(), error.what_without_backtrace()));
  }
}

void WindowTraining::backward(const SoundWindows& windows) {
  const auto found = losses(windows);
  const auto share = 1.0 / static_cast<double>(step_settings().batches_a_step);
  const auto trained = found.trained * share;
  const auto all = at::cat({trained.detach().view({1}), found.reported.detach() * share});
  optimiser_.losses().add_(all);
  trained.backward();
}

// Draws follow from what a batch is, not from what was drawn before it.
void WindowTraining::seed_draws() const {
  constexpr std::uint64_t kMostBatches = std::uint64_t{1} << 20;  // of a step
  const RandomStream seeds(step_settings().seed, "train/windows");
  auto generator = at::globalContext().defaultGenerator(torch_device(device()));
  generator.set_current_seed(
      seeds.bits(static_cast<std::uint64_t>(step()) * kMostBatches + batches()));
}

void WindowTraining::pass(const DeviceBatch& batch) {
  seed_draws();
  if (!pass_graph_) return backward(batch.windows);
  for (const auto input : kInputs) {
    if ((inputs_.*input).defined()) (inputs_.*input).copy_(batch.windows.*input);
  }
  pass_graph_->replay();
}

void WindowTraining::apply(double learning_rate) {
  optimiser_.update(step() + 1, learning_rate);
  if (update_graph_) {
    update_graph_->replay();
  } else {
    update_buffers(optimiser_.skipped());
  }
}

at::Tensor WindowTraining::measure(const DeviceBatch& batch) const {
  return measure_windows(batch.windows);
}

void WindowTraining::load(const NamedTensors& weights, const NamedTensors& optimiser) {
  parameters_.load(weights);
  optimiser_.load(optimiser);
  clear_buffers();
}

}  // namespace myxtts
