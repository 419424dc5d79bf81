// SPDX-License-Identifier: Apache-2.0
#include "probe_model.h"

#include <ATen/ATen.h>

#include "model/dvae_specs.h"
#include "model/gpt_specs.h"
#include "model/losses.h"

namespace myxtts::test {
namespace {

// Small numbers, made on the device: which ones does not matter for time and memory, and for the
// codes only that they are the same ones in every run.
NamedTensors random_tensors(const TensorSpecs& specs, const std::string& prefix, c10::Device device,
                            at::ScalarType dtype) {
  NamedTensors tensors;
  at::manual_seed(5);
  for (const auto& spec : specs) {
    const auto options = at::TensorOptions(device).dtype(dtype);
    if (spec.role == TensorRole::Counter) {
      tensors.emplace(prefix + spec.name, at::zeros(spec.shape, options.dtype(at::kLong)));
      continue;
    }
    const double scale = spec.scale > 0 ? std::min(spec.scale, 0.05) : 0.02;
    auto tensor = spec.init == Init::Ones ? at::ones(spec.shape, options)
                                          : at::randn(spec.shape, options).mul_(scale);
    tensors.emplace(prefix + spec.name, tensor);
  }
  return tensors;
}

}  // namespace

c10::Device device_of(const RoleDevice& role) {
  return role.gpu() < 0 ? c10::Device(c10::kCPU)
                        : c10::Device(c10::kCUDA, static_cast<c10::DeviceIndex>(role.gpu()));
}

ProbeModel::ProbeModel(const ModelConfig& config, RoleDevice& data, RoleDevice& model)
    : dtype_(model.gpu() < 0 ? at::kFloat : at::kBFloat16) {
  {
    const auto scope = data.enter(data.stream());
    const auto device = device_of(data);
    dvae_ = std::make_unique<Dvae>(config.dvae,
                                   random_tensors(dvae_specs(config.dvae), "", device, at::kFloat));
    mel_stats_ = at::ones({config.gpt.mel_bands}, at::TensorOptions(device)).mul_(1.5);
  }
  const auto scope = model.enter(model.stream());
  auto weights = random_tensors(gpt_specs(config.gpt), kGptPrefix, device_of(model), dtype_);
  for (auto& [name, weight] : weights) {
    weight.set_requires_grad(true);
    weight.mutable_grad() = at::zeros_like(weight);
    weights_.push_back(weight);
  }
  gpt_ = std::make_unique<Gpt>(config.gpt, weights);
}

void ProbeModel::step(const DeviceBatch& batch) {
  const auto latents = gpt_->conditioning(batch.prompt_mel.to(dtype_));
  const auto states = gpt_->states(batch.rows, latents, kGptDropout);
  gpt_losses(batch.rows, gpt_->logits(batch.rows, states)).total.backward();
  for (auto& weight : weights_) weight.mutable_grad().zero_();
}

}  // namespace myxtts::test
