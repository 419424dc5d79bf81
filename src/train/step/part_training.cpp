// SPDX-License-Identifier: Apache-2.0
#include "train/step/part_training.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

#include <ATen/ATen.h>

#include "base/error.h"
#include "base/log.h"

namespace myxtts {

NumberReader::~NumberReader() {
  // The device may still write into the memory of these.
  if (under_way_.empty()) return;
  try {
    under_way_.back().arrived.wait();
  } catch (const std::exception& error) {
    log_warning("train", "The numbers of the last steps were lost: {}", error.what());
  }
}

NumberReader::Copy NumberReader::make_copy() const {
  return {.memory = device_.host_memory(sizeof(UpdateReport)), .arrived = device_.make_event()};
}

void NumberReader::read(const Stream& stream, const UpdateReport* report) {
  Copy copy = unused_.empty() ? make_copy() : std::move(unused_.back());
  if (!unused_.empty()) unused_.pop_back();
  // The copy only reads; DeviceBytes knows no constant memory.
  device_.copy(stream, {.data = copy.memory.get()},
               {.data = const_cast<UpdateReport*>(report), .gpu = device_.gpu()},
               sizeof(UpdateReport));
  copy.arrived.record(stream);
  under_way_.push_back(std::move(copy));
}

StepNumbers NumberReader::use(Copy copy) {
  UpdateReport report;
  std::memcpy(&report, copy.memory.get(), sizeof report);
  unused_.push_back(std::move(copy));
  return {.step = report.step,
          .losses = {report.losses, report.losses + losses_},
          .loss = report.loss,
          .gradient_norm = report.gradient_norm,
          .skipped = report.skipped != 0,
          .loss_scale = std::max(1.0, static_cast<double>(report.loss_scale))};
}

std::vector<StepNumbers> NumberReader::take() {
  std::vector<StepNumbers> numbers;
  while (!under_way_.empty() && under_way_.front().arrived.completed()) {
    numbers.push_back(use(std::move(under_way_.front())));
    under_way_.pop_front();
  }
  return numbers;
}

std::vector<StepNumbers> NumberReader::finish() {
  if (!under_way_.empty()) under_way_.back().arrived.wait();
  return take();
}

OptimiserSettings optimiser_settings(const StepSettings& settings, double beta1, double beta2,
                                     std::size_t losses) {
  return {.rule = {.beta1 = beta1,
                   .beta2 = beta2,
                   .weight_decay = settings.weight_decay,
                   .clip = settings.grad_clip.value_or(0.0),
                   .scaled_loss = settings.precision == Precision::Fp16,
                   .seed = settings.seed},
          .batches_a_step = settings.batches_a_step,
          .losses = static_cast<std::int64_t>(losses)};
}

void set_arithmetic(Precision precision, bool deterministic) {
  auto& context = at::globalContext();
  context.setAllowTF32CuBLAS(precision == Precision::Tf32);
  context.setAllowTF32CuDNN(precision == Precision::Tf32);
  // cuBLAS sums in one order only with a work space of a fixed size, which it reads from here.
  if (deterministic) setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8", /*overwrite=*/0);
  context.setDeterministicAlgorithms(deterministic, /*warn_only=*/false);
  context.setDeterministicFillUninitializedMemory(false);
  context.setDeterministicCuDNN(deterministic);
}

at::ScalarType type_of(Precision precision) {
  if (precision == Precision::Bf16) return at::kBFloat16;
  return precision == Precision::Fp16 ? at::kHalf : at::kFloat;
}

PartTraining::PartTraining(RoleDevice& device, const StepSettings& settings,
                           std::vector<std::string> loss_names)
    : device_(device),
      settings_(settings),
      loss_names_(std::move(loss_names)),
      numbers_(device, std::ssize(loss_names_)) {
  set_arithmetic(settings.precision, settings.deterministic);
}

void PartTraining::accumulate(DeviceBatch& batch) {
  run_on(device_, [&] {
    batch.filled.hold_up(device_.stream());
    pass(batch);
    batch.consumed.record(device_.stream());
  });
  ++batches_;
}

void PartTraining::update(double learning_rate) {
  MYXTTS_CHECK(batches_ > 0, "an update without a batch");
  run_on(device_, [&] {
    apply(learning_rate);
    numbers_.read(device_.stream(), optimisers().front()->report());
    step_queued();
  });
  ++step_;
  batches_ = 0;
}

std::vector<std::string> PartTraining::overflowed() const {
  std::vector<std::string> names;
  run_on(device_, [&] {
    for (const Optimiser* optimiser : optimisers()) {
      for (const auto& name : optimiser->overflowed()) names.push_back(name);
    }
  });
  return names;
}

at::Tensor PartTraining::evaluate(DeviceBatch& batch) {
  const at::NoGradGuard no_grad;
  at::Tensor sums;  // [2, losses]
  run_on(device_, [&] {
    batch.filled.hold_up(device_.stream());
    sums = measure(batch);
    batch.consumed.record(device_.stream());
  });
  return sums;
}

NamedTensors PartTraining::kept() const {
  NamedTensors all = optimiser();
  for (const auto& [name, weight] : weights()) all.emplace("weight." + name, weight);
  for (const Optimiser* optimiser : optimisers()) {
    const Parameters& parameters = optimiser->parameters();
    for (const auto& [name, tensor] : parameters.tensors()) {
      if (parameters.copy().defined()) all.emplace("copy." + name, tensor.detach());
      if (tensor.grad().defined()) all.emplace("gradient." + name, tensor.grad());
    }
  }
  return all;
}

void PartTraining::restore(std::int64_t step, const NamedTensors& weights,
                           const NamedTensors& optimiser) {
  run_on(device_, [&] { load(weights, optimiser); });
  step_ = step;
  batches_ = 0;
}

void PartTraining::poll() const {
  if (settings_.poll && !settings_.graphs) settings_.poll();
}

void PartTraining::poll_in_backward(const Parameters& parameters) const {
  if (!settings_.poll || settings_.graphs) return;
  for (const auto& [name, tensor] : parameters.tensors()) {
    if (tensor.requires_grad()) tensor.register_hook([this](const at::Tensor&) { poll(); });
  }
}

}  // namespace myxtts
