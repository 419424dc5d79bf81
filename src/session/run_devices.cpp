// SPDX-License-Identifier: Apache-2.0
#include "session/run_devices.h"

#include <algorithm>

#include <ATen/ATen.h>
#include <c10/util/Exception.h>

#include "base/error.h"
#include "device/torch_device.h"
#include "diagnose/memory/memory_plan.h"

namespace myxtts {

RunDevices::RunDevices(const DevicePlan& plan, const RunDevices& first)
    : data(first.data),
      model(open_role_device(Role::Model, plan.model)),
      dvae(first.dvae),
      speaker_encoder(first.speaker_encoder),
      speaker_dim(first.speaker_dim),
      mel_stats(first.mel_stats) {}

RunDevices::RunDevices(const DevicePlan& plan, const OpenModel& network, ModelPart stage)
    : data(open_role_device(Role::Data, plan.data)),
      model(open_role_device(Role::Model, plan.model)) {
  const auto scope = data->enter(data->stream());
  try {
    const auto device = torch_device(*data);
    dvae = std::make_unique<Dvae>(network.config.dvae, on_device(network.dvae, device));
    if (stage == ModelPart::Decoder) {
      speaker_encoder = std::make_unique<SpeakerEncoder>(
          network.config.speaker_encoder, on_device(network.model, device, kSpeakerEncoderPrefix));
      speaker_dim = network.config.speaker_encoder.output_dim;
    }
    mel_stats = network.model.at("mel_stats").to(device);
  } catch (const c10::Error&) {
    data->rethrow();
  }
}

std::string batch_that_fits(const DevicePlan& plan, const ModelConfig& model,
                            const TrainConfig& train) {
  if (facts_of(train.stage).on_windows)
    return " Give a smaller --batch-size or --windows-per-clip.";
  const RolePlan& role = plan.model;
  if (!role.gpu) return {};
  const MemoryModel memory = usual_memory_model(model, plan.savers, train.guide > 0);
  const MemoryNeeds needs = memory(plan.precision, /*cpu=*/false);
  if (!needs.sum_bytes) return {};
  const std::int64_t fixed = needs.model.fixed_bytes + *needs.sum_bytes;
  const std::int64_t room = role.memory_cap_bytes.value_or(role.gpu->free_bytes);
  const std::int64_t slots = plan.ring_slots * needs.slot_bytes;
  const std::int64_t clips =
      std::min((room - fixed) / (needs.model.clip_bytes + slots),
               plan.batch_size - 1);  // the planned one did not fit, whatever the estimate
  if (clips < 1) return {};
  const std::int64_t step = plan.batch_size * plan.grad_accum;
  return fmt::format(
      " By estimate --batch-size {} --grad-accum {} fits, with steps of the same size.", clips,
      (step + clips - 1) / clips);
}

void rethrow_with_advice(const RoleDevice& device, const DevicePlan& plan, const ModelConfig& model,
                         const TrainConfig& train) {
  std::string advice;
  try {
    throw;
  } catch (const c10::OutOfMemoryError&) {
    advice = batch_that_fits(plan, model, train);
  } catch (const c10::Error&) {  // of another kind: the device knows what to make of it
  }
  try {
    device.rethrow();
  } catch (const DeviceError& error) {
    throw DeviceError(error.what() + advice);
  }
  throw InternalError("the device threw nothing");
}

void MemoryWatch::look(std::int64_t step) {
  if (device_.gpu() < 0) return;
  const auto grown = growth_.observe(step - first_step_ - 1, device_.memory().read().reserved);
  if (grown) warnings_.warn("memory growth", *grown);
}

}  // namespace myxtts
