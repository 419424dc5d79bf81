// SPDX-License-Identifier: Apache-2.0
#include "parity/parity_training.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <fmt/format.h>

#include "device/cpu/cpu_role_device.h"
#include "model/gpt.h"
#include "model/gpt_specs.h"
#include "train/gpt/gpt_training.h"
#include "train/trainer.h"

namespace myxtts::test {
namespace {

constexpr double kLearningRate = 1e-4;

class Curve final : public TrainingObserver {
 public:
  void stepped(const StepReport& report) override {
    const StepNumbers& numbers = report.numbers;
    losses.push_back(
        at::tensor({kTextLossWeight * numbers.losses[0], numbers.losses[1], numbers.loss}));
    norms.push_back(numbers.gradient_norm);
    fmt::print(stderr, "step {}: loss {:.6f}\n", numbers.step, numbers.loss);
  }
  void evaluated(const EvaluationReport&) override {}

  std::vector<at::Tensor> losses;
  std::vector<double> norms;
};

NamedTensors gpt_weights(const ParityModel& model) {
  NamedTensors weights;
  for (const auto& spec : gpt_specs(model.config.gpt)) {
    weights.emplace(kGptPrefix + spec.name, model.weights.at(kGptPrefix + spec.name).detach());
  }
  return weights;
}

}  // namespace

ParityCurve train(const ParityModel& model, std::vector<DeviceBatch> batches,
                  std::optional<double> clip) {
  const auto device = open_cpu_role_device(Role::Model, {.threads = at::get_num_threads()});
  GptTrainingSettings settings;
  settings.dropout = 0.0;
  settings.step.grad_clip = clip;
  settings.slots = std::ssize(batches.front().clips);
  const auto training = make_gpt_training(model.config.gpt, gpt_weights(model), *device, settings);
  Trainer trainer(*training,
                  {.schedule = {.kind = ScheduleKind::Steps, .learning_rate = kLearningRate},
                   .last_step = std::ssize(batches)});
  Curve curve;
  trainer.observe(curve);
  for (DeviceBatch& batch : batches) trainer.step(batch);
  trainer.finish();
  return {.losses = at::stack(curve.losses).to(at::kFloat),
          .norms = at::tensor(curve.norms).to(at::kFloat)};
}

}  // namespace myxtts::test
