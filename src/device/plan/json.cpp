// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "device/device_plan.h"

namespace myxtts {
namespace {

using Json = nlohmann::ordered_json;

template <typename T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json gpu_json(const PlannedGpu& gpu) {
  return {{"physical", gpu.physical},
          {"listed", gpu.listed},
          {"logical", gpu.logical},
          {"name", gpu.name},
          {"uuid", gpu.uuid},
          {"pci_bus_id", gpu.pci_bus_id},
          {"memory_bytes", gpu.memory_bytes}};
}

Json role_json(const RolePlan& role) {
  return {{"device", role.gpu ? "cuda:" + std::to_string(role.gpu->logical) : "cpu"},
          {"gpu", role.gpu ? gpu_json(*role.gpu) : Json(nullptr)},
          {"memory_cap_bytes", or_null(role.memory_cap_bytes)},
          {"multiprocessors", or_null(role.multiprocessors)},
          {"stream_priority", name_of(role.priority)},
          {"threads", role.threads},
          {"estimated_bytes", role.estimated_bytes}};
}

}  // namespace

std::string to_json(const DevicePlan& plan) {
  const Json json{{"mode", name_of(plan.mode)},
                  {"data", role_json(plan.data)},
                  {"model", role_json(plan.model)},
                  {"path", name_of(plan.path)},
                  {"precision", name_of(plan.precision)},
                  {"batch_size", plan.batch_size},
                  {"batch_tokens", or_null(plan.batch_tokens)},
                  {"grad_accum", plan.grad_accum},
                  {"ring_slots", plan.ring_slots},
                  {"savers",
                   {{"recompute", plan.savers.recompute},
                    {"moments", name_of(plan.savers.moments)},
                    {"release_gradients", plan.savers.release_gradients}}},
                  {"notes", plan.notes},
                  {"warnings", plan.warnings}};
  // Names of cards come from the driver and need not be UTF-8.
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace myxtts
