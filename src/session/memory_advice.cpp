// SPDX-License-Identifier: Apache-2.0
#include "session/memory_advice.h"

#include <algorithm>

#include <c10/util/Exception.h>

#include "base/error.h"
#include "diagnose/memory/memory_model.h"

namespace myxtts {

std::string batch_that_fits(const DevicePlan& plan, const ModelConfig& model,
                            const TrainConfig& train) {
  if (train.stage != Stage::Gpt) return " Give a smaller --batch-size or --windows-per-clip.";
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

}  // namespace myxtts
