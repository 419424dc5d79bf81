// SPDX-License-Identifier: Apache-2.0
#include "cli/profile_setup.h"

#include "base/error.h"
#include "device/system_probe.h"

namespace myxtts {

void check_can_be_profiled(const RunConfig& config) {
  if (config.train.stage != Stage::Gpt) {
    throw ConfigError("profile measures the stage gpt; leave --stage out.");
  }
}

ProfileSetup profile_setup(const EffectiveConfig& settings, const DevicePlan& plan) {
  const RunConfig& config = settings.values;
  SystemProbe probe;
  return {.plan = plan,
          .model_size = config.train.init ? config.train.init->string() : config.train.model_size,
          .static_shapes = config.train.enable_static_shapes && plan.model.gpu.has_value(),
          .cache_dataset = config.data.cache_dataset,
          .host_path_was_asked = config.devices.transfer_path == TransferPath::Host,
          .cores = probe.cpu().usable_cores()};
}

}  // namespace myxtts
