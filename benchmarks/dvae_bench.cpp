// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include <ATen/ATen.h>

#include "audio/mel_spectrogram.h"
#include "base/random.h"
#include "config/model.h"
#include "device/cuda_plugin.h"
#include "model/named_tensors.h"
#include "model/network_specs.h"
#include "train/dvae/dvae_training.h"

// Trains a new DVAE on one GPU, on windows of 128 frames (1.5 s) of raw speech (16 bits, one
// channel, 22,050 Hz), and tells how long steps take and how far it gets:
//
//   dvae_bench SIZE SPEECH.raw WINDOWS STEPS [fp32|tf32] [eager]

namespace myxtts {
namespace {

constexpr std::int64_t kFrames = 128;
constexpr std::int64_t kSamples = (kFrames - 1) * 256;
constexpr double kRate = 3e-4;

at::Tensor read_speech(const char* path) {
  std::ifstream file(path, std::ios::binary);
  const std::vector<char> bytes((std::istreambuf_iterator<char>(file)), {});
  const auto count = static_cast<std::int64_t>(bytes.size() / 2);
  return at::from_blob(const_cast<char*>(bytes.data()), {count}, at::kShort).to(at::kFloat) /
         32'768.0;
}

// The last tenth is for validation.
class Windows {
 public:
  Windows(const at::Tensor& speech, std::int64_t windows)
      : speech_(speech), windows_(windows), mel_(dvae_mel_config(), speech.device()) {
    const auto rows =
        speech_.narrow(0, 0, speech_.size(0) / kSamples * kSamples).view({-1, kSamples});
    const auto power = mel_(rows);
    stats_ = normalised_log_mel(power, at::ones({80}, speech.options()))
                 .square()
                 .mean(at::IntArrayRef{0, 2})
                 .sqrt();
  }

  const at::Tensor& stats() const { return stats_; }

  at::Tensor mel(std::uint64_t number, bool validation) const {
    const RandomStream random(validation ? 2 : 1, "windows");
    const std::int64_t border = speech_.size(0) / 10 * 9;
    std::vector<at::Tensor> rows;
    for (std::int64_t row = 0; row < windows_; ++row) {
      const auto draw = number * 4096 + static_cast<std::uint64_t>(row);
      const auto start = validation ? random.integer(draw, border, speech_.size(0) - kSamples)
                                    : random.integer(draw, 0, border - kSamples);
      rows.push_back(speech_.narrow(0, start, kSamples));
    }
    return normalised_log_mel(mel_(at::stack(rows)), stats_);
  }

 private:
  at::Tensor speech_;
  std::int64_t windows_;
  MelSpectrogram mel_;
  at::Tensor stats_;
};

DeviceBatch make_batch(const at::Tensor& mel, const RoleDevice& device) {
  DeviceBatch batch;
  batch.windows.mel = mel;
  batch.windows.weights = at::ones({mel.size(0)}, mel.options());
  batch.filled = device.make_event();
  batch.consumed = device.make_event();
  return batch;
}

double seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Milliseconds of a step, nothing but steps.
double step_time(PartTraining& training, DeviceBatch& batch, int steps) {
  training.finish_numbers();
  const double start = seconds();
  for (int step = 0; step < steps; ++step) {
    training.accumulate(batch);
    training.update(kRate);
  }
  training.finish_numbers();
  return (seconds() - start) / steps * 1e3;
}

void tell(PartTraining& training, const Windows& windows, RoleDevice& device) {
  const auto numbers = training.finish_numbers();
  at::Tensor sums = at::zeros({2, 5}, windows.stats().options());
  for (std::uint64_t i = 0; i < 4; ++i) {
    auto batch = make_batch(windows.mel(i, true), device);
    sums += training.evaluate(batch);
  }
  const auto held = (sums[0] / sums[1]).cpu();
  const auto& l = numbers.back().losses;
  std::printf(
      "step %5ld  train mse %.4f commit %.4f perplexity %6.1f used %.3f mel %.3f | held out "
      "mse %.4f perplexity %6.1f mel %.3f\n",
      static_cast<long>(training.step()), l[0], l[1], l[2], l[3], l[4], held[0].item<double>(),
      held[2].item<double>(), held[4].item<double>());
  std::fflush(stdout);
}

int run(const std::vector<std::string>& arguments) {
  if (cuda_plugin().backend == nullptr) {
    std::printf("no CUDA device here: %s\n", cuda_plugin().reason.c_str());
    return 4;
  }
  RolePlan plan;
  plan.gpu = PlannedGpu{};
  const auto device = open_role_device(Role::Model, plan);
  const auto config = model_preset(arguments[1]).dvae;
  const std::int64_t count = std::stol(arguments[3]);
  const int steps = std::stoi(arguments[4]);
  DvaeTrainingSettings settings = {
      .step = {.precision = Precision::Tf32}, .windows = count, .frames = kFrames};
  settings.step.graphs = true;
  for (std::size_t i = 5; i < arguments.size(); ++i) {
    if (arguments[i] == "fp32") settings.step.precision = Precision::Fp32;
    if (arguments[i] == "eager") settings.step.graphs = false;
  }
  const auto scope = device->enter(device->stream());
  const Windows windows(read_speech(arguments[2].c_str()).cuda(), count);
  const auto training = make_dvae_training(config, initialise(dvae_specs(config), 1),
                                           windows.stats().cpu(), *device, settings);
  auto fixed = make_batch(windows.mel(0, false), *device);
  step_time(*training, fixed, 5);
  std::printf("%s, %ld windows: %.2f ms a step\n", arguments[1].c_str(), static_cast<long>(count),
              step_time(*training, fixed, 30));
  const auto fresh = make_dvae_training(config, initialise(dvae_specs(config), 1),
                                        windows.stats().cpu(), *device, settings);
  const double start = seconds();
  for (int step = 0; step < steps; ++step) {
    auto batch = make_batch(windows.mel(static_cast<std::uint64_t>(step), false), *device);
    fresh->accumulate(batch);
    fresh->update(kRate);
    if ((step + 1) % 250 == 0 || step == 9 || step == 99) tell(*fresh, windows, *device);
  }
  std::printf("%d steps in %.1f s\n", steps, seconds() - start);
  return 0;
}

}  // namespace
}  // namespace myxtts

int main(int count, char** values) {
  if (count < 5) {
    std::fprintf(stderr, "dvae_bench SIZE SPEECH.raw WINDOWS STEPS [fp32|tf32] [eager]\n");
    return 2;
  }
  return myxtts::run({values, values + count});
}
