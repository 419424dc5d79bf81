// SPDX-License-Identifier: Apache-2.0
#include "session/run_devices.h"
#include "device/torch_device.h"

#include <ATen/ATen.h>

namespace myxtts {
namespace {

// The tensors whose names begin so.
NamedTensors on_device(const NamedTensors& tensors, const std::string& prefix, c10::Device device) {
  NamedTensors placed;
  for (const auto& [name, tensor] : tensors) {
    if (name.starts_with(prefix)) placed.emplace(name, tensor.to(device));
  }
  return placed;
}

}  // namespace

RunDevices::RunDevices(const DevicePlan& plan, const RunDevices& first)
    : data(first.data),
      model(open_role_device(Role::Model, plan.model)),
      dvae(first.dvae),
      speaker_encoder(first.speaker_encoder),
      speaker_dim(first.speaker_dim),
      mel_stats(first.mel_stats) {}

RunDevices::RunDevices(const DevicePlan& plan, const OpenModel& network, Stage stage)
    : data(open_role_device(Role::Data, plan.data)),
      model(open_role_device(Role::Model, plan.model)) {
  const auto scope = data->enter(data->stream());
  try {
    const auto device = torch_device(*data);
    dvae = std::make_unique<Dvae>(network.config.dvae, on_device(network.dvae, "", device));
    if (stage == Stage::Decoder) {
      speaker_encoder = std::make_unique<SpeakerEncoder>(
          network.config.speaker_encoder, on_device(network.model, kSpeakerEncoderPrefix, device));
      speaker_dim = network.config.speaker_encoder.output_dim;
    }
    mel_stats = network.model.at("mel_stats").to(device);
  } catch (const c10::Error&) {
    data->rethrow();
  }
}

}  // namespace myxtts
