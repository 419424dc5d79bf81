// SPDX-License-Identifier: Apache-2.0
//
// Trains a model from a program of one's own: the settings are structs, the data pipeline and the
// trainer are objects, and the loop that joins them is yours.
//
//   train_from_code CORPUS RUN [STEPS]
//
// CORPUS is a folder as `myxtts train` takes it, RUN a folder for what is written. It trains the
// smallest model on the CPU, which any machine can; what to change for two GPUs stands below.
#include <exception>
#include <iostream>
#include <string>

#include <myxtts/run/run_directory.h>
#include <myxtts/session/plan_run.h>
#include <myxtts/session/run_inputs.h>
#include <myxtts/session/wired_training.h>
#include <myxtts/train/trainer.h>

namespace {

using namespace myxtts;

// Every setting that is not named keeps its default: docs/reference/configuration.md lists them
// all.
RunConfig settings(const std::string& corpus, std::int64_t steps) {
  return {.data = {.pipeline_buffer_size = 8,  // batches that wait decoded, in host memory
                   .prefetch_buffer_size = 3,  // batches that wait on the model device
                   .train_data = {{.path = corpus}}},
          .devices = {.device = DeviceKind::Cpu},
          .train = {.model_size = "tiny", .batch_size = 2, .max_steps = steps, .lr = 1e-3}};
}

// The same with the data work on one GPU and the model on another: training starts when the
// buffers are full, and not before the delay is over.
[[maybe_unused]] RunConfig settings_for_two_gpus(const std::string& corpus) {
  return {.data = DataConfig{.data_gpu = 0,
                             .model_gpu = 1,
                             .pipeline_buffer_size = 75,
                             .model_start_delay = 2.0,  // seconds
                             .train_data = {{.path = corpus}}},
          .train = {.model_size = "xtts-v2", .batch_size = 32}};
}

// Hears of each step once the device has finished it, which is a few steps later than step().
class Printer final : public TrainingObserver {
 public:
  void stepped(const StepReport& report) override {
    std::cout << "step " << report.numbers.step << "  loss " << report.numbers.loss << "  ("
              << report.clips.size() << " clips, " << report.audio_seconds << " s)" << std::endl;
  }
  void evaluated(const EvaluationReport&) override {}
};

void train(const RunConfig& config, const std::string& folder) {
  const RunDirectory run(folder);  // locked: one process trains in it
  const DevicePlan plan = plan_and_open_devices(config, sizes_to_train(config.train));
  std::cout << describe(plan) << std::endl;

  const EffectiveConfig given{.values = config, .origins = {}};
  RunInputs inputs(given, {plan}, run.path());  // the model to start from, the clips, the devices
  const auto batches = inputs.feeds().training();
  const auto training = make_training(
      training_inputs(config, plan, inputs.start(), inputs.data(), *inputs.devices(0).model));
  Trainer trainer(*training, trainer_settings(config, inputs.data()));
  Printer printer;
  trainer.observe(printer);

  batches->start(DataPosition{});
  batches->wait_until_ready();
  while (auto batch = batches->next()) {
    trainer.step(**batch);  // queued on the model device; the batch's slot is free again after it
    if (trainer.done()) break;
  }
  trainer.finish();
  batches->finish();
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 3) {
    std::cerr << "usage: train_from_code CORPUS RUN [STEPS]\n";
    return 2;
  }
  try {
    train(settings(arguments[1], count > 3 ? std::stoll(arguments[3]) : 5), arguments[2]);
    return 0;
  } catch (const std::exception& error) {
    std::cerr << "train_from_code: " << error.what() << "\n";
    return 1;
  }
}
