// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include <ATen/core/Tensor.h>

#include "device/device_plan.h"
#include "device/role_device.h"
#include "model/dvae.h"
#include "run/open_model.h"

namespace myxtts {

// The two devices of a run, opened, and the frozen network on the data device.
struct RunDevices {
  // Throws DeviceError.
  RunDevices(const DevicePlan& plan, const OpenModel& network);

  std::unique_ptr<RoleDevice> data;
  std::unique_ptr<RoleDevice> model;
  std::unique_ptr<Dvae> dvae;  // on the data device
  at::Tensor mel_stats;        // [bands] on the data device
};

}  // namespace myxtts
