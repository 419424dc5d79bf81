// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include <ATen/core/Tensor.h>

#include "config/stage.h"
#include "device/device_plan.h"
#include "device/role_device.h"
#include "model/dvae.h"
#include "model/speaker_encoder.h"
#include "run/open_model.h"

namespace myxtts {

// The two devices of a run, opened, and the frozen networks on the data device. The ranks of one
// process have a model device each and share the rest, which lives as long as the last of them.
struct RunDevices {
  // Throw DeviceError.
  RunDevices(const DevicePlan& plan, const OpenModel& network, Stage stage = Stage::Gpt);
  // Of a further rank, beside the same data device.
  RunDevices(const DevicePlan& plan, const RunDevices& first);

  std::shared_ptr<RoleDevice> data;
  std::unique_ptr<RoleDevice> model;
  std::shared_ptr<Dvae> dvae;                       // on the data device
  std::shared_ptr<SpeakerEncoder> speaker_encoder;  // likewise; of the decoder's stage alone
  std::int64_t speaker_dim = 0;
  at::Tensor mel_stats;  // [bands] on the data device
};

}  // namespace myxtts
