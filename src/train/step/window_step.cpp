// SPDX-License-Identifier: Apache-2.0
#include "train/step/window_step.h"

#include <array>
#include <utility>

#include <ATen/ATen.h>
#include <c10/util/Exception.h>

#include "base/error.h"
#include "base/random.h"
#include "device/torch_device.h"
#include "train/step/stage_training.h"

namespace myxtts {
namespace {

// Those that the stages of windows read.
constexpr std::array kInputs = {&SoundWindows::weights, &SoundWindows::clips, &SoundWindows::mel,
                                &SoundWindows::sound, &SoundWindows::speakers};

WindowStepSettings checked(const WindowStepSettings& settings) {
  if (settings.precision != Precision::Fp32 && settings.precision != Precision::Tf32) {
    throw ConfigError(
        "This stage trains in fp32 or tf32, as shorter numbers would change which code is the "
        "nearest and what a batch's statistics are. Type --precision tf32, or fp32.");
  }
  set_arithmetic(settings.precision, settings.deterministic);
  return settings;
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

WindowStep::WindowStep(RoleDevice& device, Parameters& parameters,
                       const WindowStepSettings& settings, WindowWork work)
    : device_(device),
      parameters_(parameters),
      settings_(checked(settings)),
      work_(std::move(work)),
      optimiser_(parameters, settings.optimiser, device),
      numbers_(device, {settings.optimiser.losses}) {
  if (settings_.graphs) record();
  if (settings_.graphs || !settings_.on_the_way) return;
  for (const auto& [name, tensor] : parameters_.tensors()) {
    if (!tensor.requires_grad()) continue;
    tensor.register_hook([this](const at::Tensor&) { settings_.on_the_way(); });
  }
}

WindowStep::~WindowStep() = default;

void WindowStep::record() {
  recorder_ = device_.make_graph_recorder();
  MYXTTS_CHECK(recorder_ && settings_.windows.weights.defined(), "no graphs for {}",
               device_.name());
  inputs_ = zeros_like(settings_.windows, torch_device(device_));
  const auto skipped = optimiser_.skipped();
  // Once without recording, for LibTorch to load its kernels and to make its work spaces. The
  // update counts as skipped, so that nothing is changed.
  pass(inputs_);
  work_.update(at::ones_like(skipped));
  optimiser_.clear();
  work_.forget();
  try {
    pass_graph_ = recorder_->record([&] { pass(inputs_); });
    update_graph_ = recorder_->record([&] { work_.update(skipped); });
  } catch (const c10::OutOfMemoryError&) {
    throw;  // it says itself what would help
  } catch (const c10::Error& error) {
    throw DeviceError(
        fmt::format("The step of {} windows cannot be recorded as a CUDA graph on {}: {} Type "
                    "--disable-static-shapes to train without graphs.",
                    inputs_.weights.size(0), device_.name(), error.what_without_backtrace()));
  }
}

void WindowStep::pass(const SoundWindows& windows) {
  const auto losses = work_.losses(windows);
  const auto share = 1.0 / static_cast<double>(settings_.optimiser.batches_a_step);
  const auto trained = losses.trained * share;
  const auto all = at::cat({trained.detach().view({1}), losses.told.detach() * share});
  optimiser_.losses().add_(all);
  trained.backward();
}

// Draws follow from what a batch is, not from what was drawn before it.
void WindowStep::seed_draws() const {
  constexpr std::uint64_t kMostBatches = std::uint64_t{1} << 20;  // of a step
  const RandomStream seeds(settings_.optimiser.seed, "train/windows");
  auto generator = at::globalContext().defaultGenerator(torch_device(device_));
  generator.set_current_seed(
      seeds.bits(static_cast<std::uint64_t>(step_) * kMostBatches + batches_));
}

// Calls `work` as work of the role; LibTorch's errors become ours.
void WindowStep::queue(const std::function<void()>& work) {
  const auto scope = device_.enter(device_.stream());
  try {
    work();
  } catch (const c10::Error&) {
    device_.rethrow();
  }
}

std::vector<std::string> WindowStep::overflowed() {
  std::vector<std::string> names;
  queue([&] { names = optimiser_.overflowed(); });
  return names;
}

void WindowStep::accumulate(DeviceBatch& batch) {
  queue([&] {
    batch.filled.hold_up(device_.stream());
    seed_draws();
    if (pass_graph_) {
      for (const auto input : kInputs) {
        if ((inputs_.*input).defined()) (inputs_.*input).copy_(batch.windows.*input);
      }
      pass_graph_->replay();
    } else {
      pass(batch.windows);
    }
    batch.consumed.record(device_.stream());
  });
  ++batches_;
}

void WindowStep::update(double learning_rate) {
  MYXTTS_CHECK(batches_ > 0, "an update without a batch");
  queue([&] {
    optimiser_.update(step_ + 1, learning_rate);
    if (update_graph_) {
      update_graph_->replay();
    } else {
      work_.update(optimiser_.skipped());
    }
    const UpdateReport* const report = optimiser_.report();
    numbers_.read(device_.stream(), {&report, 1});
  });
  ++step_;
  batches_ = 0;
}

at::Tensor WindowStep::evaluate(DeviceBatch& batch,
                                const std::function<at::Tensor(const SoundWindows&)>& measure) {
  const at::NoGradGuard no_grad;
  at::Tensor result;
  queue([&] {
    batch.filled.hold_up(device_.stream());
    result = measure(batch.windows);
    batch.consumed.record(device_.stream());
  });
  return result;
}

void WindowStep::restore(std::int64_t step, const std::function<void()>& load) {
  queue([&] {
    load();
    optimiser_.clear();
    work_.forget();
  });
  step_ = step;
  batches_ = 0;
}

}  // namespace myxtts
