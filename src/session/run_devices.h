// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <ATen/core/Tensor.h>

#include "config/model.h"
#include "config/run_config.h"
#include "device/plan/device_plan.h"
#include "device/role_device.h"
#include "model/dvae.h"
#include "model/speaker_encoder.h"
#include "run/open_model.h"
#include "session/run_monitor.h"

namespace myxtts {

// The two devices of a run, opened, and the frozen networks on the data device. The ranks of one
// process have a model device each and share the rest, which lives as long as the last of them.
struct RunDevices {
  // Throw DeviceError.
  RunDevices(const DevicePlan& plan, const OpenModel& network, ModelPart stage = ModelPart::Gpt);
  // Of a further rank, beside the same data device.
  RunDevices(const DevicePlan& plan, const RunDevices& first);

  std::shared_ptr<RoleDevice> data;
  std::unique_ptr<RoleDevice> model;
  std::shared_ptr<Dvae> dvae;                       // on the data device
  std::shared_ptr<SpeakerEncoder> speaker_encoder;  // likewise; of the decoder's stage alone
  std::int64_t speaker_dim = 0;
  at::Tensor mel_stats;  // [bands] on the data device
};

// Which batch would fit where the planned one did not, and the accumulation that keeps the step as
// large, by estimate: "By estimate --batch-size 4 --grad-accum 2 fits, with steps of the same
// size." Empty where even one clip would not.
std::string batch_that_fits(const DevicePlan& plan, const ModelConfig& model,
                            const TrainConfig& train);

// Turns an error of LibTorch in the model role's work into ours and throws it; one about memory
// with that advice. Call it in a catch block.
[[noreturn]] void rethrow_with_advice(const RoleDevice& device, const DevicePlan& plan,
                                      const ModelConfig& model, const TrainConfig& train);

// Says when the memory of a role on a GPU grows although it should be steady. On the CPU memory
// comes and goes with each batch, so nothing is watched there. At most once an hour. The device
// outlives it.
class MemoryWatch {
 public:
  // `user` takes the memory, e.g. "training".
  MemoryWatch(const RoleDevice& device, std::string user, std::int64_t first_step)
      : device_(device), first_step_(first_step), growth_(std::move(user)) {}

  // After every step.
  void look(std::int64_t step);

 private:
  const RoleDevice& device_;
  const std::int64_t first_step_;
  GrowthWatch growth_;
  HourlyWarnings warnings_;
};

}  // namespace myxtts
