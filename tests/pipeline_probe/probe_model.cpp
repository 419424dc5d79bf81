// SPDX-License-Identifier: Apache-2.0
#include "probe_model.h"

#include <algorithm>

#include <ATen/ATen.h>

#include "model/gpt.h"
#include "model/gpt_specs.h"
#include "model/named_tensors.h"
#include "model/network_specs.h"

namespace myxtts::test {
namespace {

constexpr double kRate = 1e-6;

// Small numbers, made on the device: which ones does not matter for time and memory, and for the
// codes only that they are the same ones in every run.
NamedTensors random_tensors(const TensorSpecs& specs, c10::Device device) {
  NamedTensors tensors;
  at::manual_seed(5);
  for (const auto& spec : specs) {
    const auto options = at::TensorOptions(device).dtype(at::kFloat);
    if (spec.role == TensorRole::Counter) {
      tensors.emplace(spec.name, at::zeros(spec.shape, options.dtype(at::kLong)));
      continue;
    }
    const double scale = spec.scale > 0 ? std::min(spec.scale, 0.05) : 0.02;
    tensors.emplace(spec.name, spec.init == Init::Ones
                                   ? at::ones(spec.shape, options)
                                   : at::randn(spec.shape, options).mul_(scale));
  }
  return tensors;
}

// Made outside of the role, so that its cap does not count them.
NamedTensors gpt_weights(const GptConfig& config, c10::Device device) {
  NamedTensors weights;
  for (const auto& [name, weight] : initialise(gpt_specs(config), 1, device)) {
    weights.emplace(kGptPrefix + name, weight);
  }
  return weights;
}

GptTrainingSettings settings_for(const RoleDevice& model, const RowSizes& sizes,
                                 std::int64_t clips) {
  const bool on_gpu = model.gpu() >= 0;
  return {.step = {.precision = on_gpu ? Precision::Bf16 : Precision::Fp32, .graphs = on_gpu},
          .sizes = {sizes},
          .slots = clips};
}

}  // namespace

c10::Device device_of(const RoleDevice& role) {
  return role.gpu() < 0 ? c10::Device(c10::kCPU)
                        : c10::Device(c10::kCUDA, static_cast<c10::DeviceIndex>(role.gpu()));
}

ProbeModel::ProbeModel(const ModelConfig& config, RoleDevice& data, RoleDevice& model,
                       const RowSizes& sizes, std::int64_t clips) {
  {
    const auto scope = data.enter(data.stream());
    const auto device = device_of(data);
    dvae_ = std::make_unique<Dvae>(config.dvae, random_tensors(dvae_specs(config.dvae), device));
    mel_stats_ = at::ones({config.gpt.mel_bands}, at::TensorOptions(device)).mul_(1.5);
  }
  training_ = make_gpt_training(config.gpt, gpt_weights(config.gpt, device_of(model)), model,
                                settings_for(model, sizes, clips));
}

void ProbeModel::step(DeviceBatch& batch) {
  training_->accumulate(batch);
  training_->update(kRate);
  (void)training_->take_numbers();
}

}  // namespace myxtts::test
